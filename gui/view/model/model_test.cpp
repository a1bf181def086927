// SPDX-License-Identifier: Apache-2.0
// From traces on disk to what is shown: the figures match the report.
#include "gui/view/model/model.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/exit_code.h"
#include "gui/view/docks/selection_table.h"
#include "gui/view/session/session.h"
#include "tests/support/run_builder.h"
#include "tests/support/temporary_folder.h"

namespace dprof::view {
namespace {

class ModelTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Model> load(const test_support::RunSpec& spec) {
    const auto written = test_support::write_run(folder.path() / "run", spec);
    EXPECT_TRUE(written.ok());
    auto model = load_model({folder.path() / "run"}, {});
    EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().what);
    return model.ok() ? *model : nullptr;
  }
  test_support::TemporaryFolder folder;
};

TEST_F(ModelTest, TheTableOfTheSteadyStepsIsTheReportsBreakdown) {
  test_support::RunSpec spec;
  spec.ranks = 4;
  spec.noise = 0.02;
  spec.delays.push_back({.rank = 2, .phase = test_support::Phase::kInput, .ns = 6 * kNsPerMs});
  const auto model = load(spec);
  ASSERT_NE(model, nullptr);
  ASSERT_TRUE(model->report.breakdown && model->report.run.steps);
  std::vector<analyzer::CategoryNs> sums(4);
  Session session;
  session.open(model);
  for (const analyzer::StepWindow& step : model->steps) {
    if (step.index < model->report.run.steps->first_steady) continue;
    if (step.index > model->report.run.steps->last_steady) continue;
    session.selecting.select_step(step.index);
    const SelectionTable table = selection_table(session.model(), session.selecting);
    for (size_t rank = 0; rank < table.ranks.size(); ++rank) {
      for (const SelectionTable::Line& line : table.lines) {
        sums[rank][static_cast<size_t>(line.category)] += line.ns[rank];
      }
    }
  }
  for (size_t rank = 0; rank < sums.size(); ++rank) {
    const analyzer::RankBreakdown& want = model->report.breakdown->per_rank[rank];
    for (size_t c = 0; c < analyzer::kCategories; ++c) {
      // Items below 50 us in every column are omitted from a step's table.
      const int64_t hidden = 50 * kNsPerUs * model->report.run.steps->count;
      EXPECT_NEAR(static_cast<double>(sums[rank][c]), static_cast<double>(want.category_ns[c]),
                  sums[rank][c] == want.category_ns[c] ? 0.0 : static_cast<double>(hidden))
          << "rank " << rank << " " << analyzer::key_of(static_cast<analyzer::Category>(c));
    }
    EXPECT_EQ(sums[rank][static_cast<size_t>(analyzer::Category::kForward)],
              want.category_ns[static_cast<size_t>(analyzer::Category::kForward)]);
  }
}

TEST_F(ModelTest, TheCulpritIsNotedAndSelected) {
  test_support::RunSpec spec;
  spec.ranks = 4;
  spec.delays.push_back({.rank = 2, .phase = test_support::Phase::kInput, .ns = 12 * kNsPerMs});
  const auto model = load(spec);
  ASSERT_NE(model, nullptr);
  Session session;
  session.open(model);
  EXPECT_EQ(session.selecting.selection().ranks, std::vector<int>{2});
  ASSERT_TRUE(session.selecting.selection().collective);
  EXPECT_EQ(model->collectives[*session.selecting.selection().collective].last_arriver, 2);
  ASSERT_TRUE(model->ranks[2].own_delay);
  EXPECT_EQ(model->ranks[2].own_delay->ns, model->report.stragglers->front().own_delay_ns);
  EXPECT_GT(model->utilisation.size(), 100U);
}

TEST_F(ModelTest, AMissingRunSaysSo) {
  const auto model = load_model({folder.path() / "nowhere"}, {});
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(exit_code_of(model.error().code), ExitCode::kUnreadable);
  EXPECT_FALSE(model.error().hint.empty());
}

TEST_F(ModelTest, LoadingCanBeCancelled) {
  ASSERT_TRUE(test_support::write_run(folder.path() / "run", {}).ok());
  int calls = 0;
  const auto model = load_model({folder.path() / "run"}, {},
                                [&](std::string_view, double) { return ++calls < 2; });
  EXPECT_FALSE(model.ok());
}

TEST_F(ModelTest, WhichRunItIsIsSaidBeforeItIsRead) {
  ASSERT_TRUE(test_support::write_run(folder.path() / "run", {}).ok());
  std::vector<std::string> said;
  const auto model = load_model(
      {folder.path() / "run"}, {},
      [&](std::string_view stage, double) {
        said.emplace_back(stage);
        return true;
      },
      std::set<int>(), [&](const analyzer::Run& run) { said.push_back(about(run)); });
  ASSERT_TRUE(model.ok());
  ASSERT_GT(said.size(), 4U);
  EXPECT_EQ(said[0], "opening");
  EXPECT_TRUE(said[1].starts_with("run: ") && said[1].find(" ranks on ") != std::string::npos)
      << said[1];
  EXPECT_EQ(said[2], "reading the traces");
  EXPECT_EQ(said.back(), "putting together what is shown");
  EXPECT_EQ(std::ranges::count(said, "match"), 0) << "stages are given in words";
}

}  // namespace
}  // namespace dprof::view
