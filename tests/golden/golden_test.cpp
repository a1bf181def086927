// SPDX-License-Identifier: Apache-2.0
// Runs the cases of tests/golden: a folder per area, a folder per case, input and expected output
// as files.
//
//   report/CASE/spec.json                 the run, and the report's options
//              /report.txt, report.json   what `dprof report` must give, one or both
//              /report.md, explain-K.txt  with --format markdown, with --explain K
//              /what-if.txt               answers to the spec's "what_if": each a list of changes
//   diff/CASE/spec.json                   the run, and the "other" it is compared with
//            /diff.txt, check.txt         `dprof diff`, and `dprof check` of the other against it
//   sql/CASE/spec.json                    the run, and the rank whose trace is queried
//           /query.sql, expected.txt      the query, and its rows
//
// `golden_test --update` (or DPROF_UPDATE_GOLDEN=1) rewrites the expectations: look at the
// difference before you commit it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analyzer/analysis.h"
#include "analyzer/check/check.h"
#include "analyzer/check/formats.h"
#include "analyzer/diff/render.h"
#include "analyzer/render/explain.h"
#include "analyzer/render/json.h"
#include "analyzer/render/markdown.h"
#include "analyzer/render/text.h"
#include "analyzer/replay/what_if.h"
#include "base/format.h"
#include "base/paged_memory.h"
#include "schema/database.h"
#include "tests/support/paths.h"
#include "tests/support/run_builder.h"
#include "tests/support/spec_json.h"
#include "tests/support/temporary_folder.h"

namespace dprof {
namespace {

using Json = nlohmann::json;
using std::filesystem::path;

bool update_expectations = false;  // set by main, once

Result<std::string> read_file(const path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream content;
  content << stream.rdbuf();
  if (!stream) return fail(Code::kNotFound, file.string() + ": cannot be read");
  return content.str();
}

// What depends on the machine is replaced, so that expectations hold everywhere.
std::string stable(std::string text, const path& run) {
  const std::string place = run.string();
  for (size_t at = text.find(place); at != std::string::npos; at = text.find(place, at)) {
    text.replace(at, place.size(), "RUN");
  }
  return text;
}

void compare(const path& expectation, const std::string& got) {
  if (update_expectations) {
    std::ofstream file(expectation, std::ios::binary);
    file << got;
    ASSERT_TRUE(file.good()) << expectation;
    return;
  }
  const Result<std::string> want = read_file(expectation);
  ASSERT_TRUE(want.ok()) << want.error().what << "\nhint: golden_test --update writes it";
  EXPECT_EQ(got, *want) << expectation
                        << "\nhint: if this is the better output, golden_test --update";
}

class GoldenCase : public ::testing::Test {
 public:
  explicit GoldenCase(path folder) : folder_(std::move(folder)) {}

  void TestBody() override {
    const Result<std::string> text = read_file(folder_ / "spec.json");
    ASSERT_TRUE(text.ok()) << text.error().what;
    const Json json = Json::parse(*text, nullptr, false);
    ASSERT_TRUE(json.is_object() && json.contains("run")) << folder_;
    const Result<test_support::RunSpec> spec = test_support::spec_from_json(json["run"]);
    ASSERT_TRUE(spec.ok()) << folder_ << ": " << spec.error().what;

    const test_support::TemporaryFolder temporary;
    const path run = temporary.path() / "run";
    const Result<test_support::RunTimes> written = test_support::write_run(run, *spec);
    ASSERT_TRUE(written.ok()) << written.error().what;
    const std::string area = folder_.parent_path().filename().string();
    if (area == "report") return check_report(run, json);
    if (area == "diff") return check_pair(run, json);
    if (area == "sql") return check_query(run, json);
    FAIL() << "there is no area " << area;
  }

 private:
  void check_report(const path& folder, const Json& json) {
    const Result<analyzer::Run> run = analyzer::open_run({folder});
    ASSERT_TRUE(run.ok()) << run.error().what;
    analyzer::AnalysisOptions wish;
    wish.model = json.contains("what_if");
    const Result<analyzer::Analysis> analysis = analyzer::analyze(*run, wish);
    ASSERT_TRUE(analysis.ok()) << analysis.error().what;
    if (json.contains("what_if")) {
      ASSERT_NE(analysis->model, nullptr);
      compare(folder_ / "what-if.txt", answers(*analysis->model, json["what_if"]));
    }
    analyzer::Report report = analysis->report;
    for (analyzer::Diagnostic& d : report.recording.diagnostics) d.text = stable(d.text, folder);
    const Json options = json.value("report", Json::object());
    const path text = folder_ / "report.txt";
    const path program = folder_ / "report.json";
    const bool neither = !exists(text) && !exists(program);
    ASSERT_TRUE(update_expectations || !neither) << "nothing is expected of " << folder_;
    if (neither || exists(text)) {
      compare(text, analyzer::render_text(report, {.width = options.value("width", 100),
                                                   .top = options.value("top", 8)}));
    }
    if (exists(program)) compare(program, analyzer::render_json(report));
    const path markdown = folder_ / "report.md";
    if (exists(markdown)) compare(markdown, analyzer::render_markdown(report));
    check_explanations(report, *run, *analysis);
    check_same_if_paged(*run, wish, analysis->report);
  }

  // As of a run that is too large for memory.
  static void check_same_if_paged(const analyzer::Run& run, analyzer::AnalysisOptions wish,
                                  const analyzer::Report& report) {
    wish.calls_in_memory = 0;
    const size_t before = paged_bytes();
    const Result<analyzer::Analysis> paged = analyzer::analyze(run, wish);
    ASSERT_TRUE(paged.ok()) << paged.error().what;
    EXPECT_EQ(analyzer::render_json(paged->report), analyzer::render_json(report));
    const bool has_calls = report.collectives && !report.collectives->empty();
    EXPECT_TRUE(!has_calls || paged_bytes() > before) << "nothing was put into paged memory";
  }

  static Result<analyzer::RunFacts> facts_of_run(const path& folder) {
    const Result<analyzer::Run> run = analyzer::open_run({folder});
    if (!run.ok()) return fail(run.error());
    analyzer::AnalysisOptions wish;
    wish.names = analyzer::Names::kMostRanks;
    const Result<analyzer::Analysis> analysis = analyzer::analyze(*run, wish);
    if (!analysis.ok()) return fail(analysis.error());
    return analyzer::facts_of_json(analyzer::render_json(analysis->report), "RUN");
  }

  void check_pair(const path& folder, const Json& json) {
    const path other = folder.parent_path() / "other";
    const Result<test_support::RunSpec> spec = test_support::spec_from_json(json["other"]);
    ASSERT_TRUE(spec.ok()) << spec.error().what;
    ASSERT_TRUE(test_support::write_run(other, *spec).ok());
    const Result<analyzer::RunFacts> a = facts_of_run(folder);
    const Result<analyzer::RunFacts> b = facts_of_run(other);
    ASSERT_TRUE(a.ok() && b.ok());
    const std::span base(&*a, 1);
    const std::span run(&*b, 1);
    compare(folder_ / "diff.txt", analyzer::render_diff_text(analyzer::diff_of(base, run), {}));
    const analyzer::CheckResult result =
        analyzer::check({.runs = run, .baselines = base, .today = {}}, {});
    compare(folder_ / "check.txt", analyzer::render_check_text(result, {}));
  }

  static std::string answers(const analyzer::WhatIfModel& model, const Json& questions) {
    std::string text;
    for (const Json& question : questions) {
      std::vector<analyzer::Change> changes;
      for (const Json& word : question) {
        Result<analyzer::Change> change = analyzer::parse_change(word.get<std::string>());
        if (change.ok()) changes.push_back(*std::move(change));
      }
      text += analyzer::words_of(changes) + '\n';
      const Result<analyzer::WhatIf> what = model.answer(changes);
      if (!what.ok()) {
        text += fmt::format("  {}; {}\n", what.error().what, what.error().hint);
      } else if (!what->gain_ns) {
        text += fmt::format("  cannot be answered: {}\n", what->refused);
      } else {
        text += fmt::format("  {}, gains {} ± {}\n  {}\n", format_ms({*what->step_ns}),
                            format_ms({*what->gain_ns}), format_ms({*what->bound_ns}),
                            what->valid_because);
        if (!what->bias.empty()) text += fmt::format("  {}\n", what->bias);
      }
    }
    return text;
  }

  // Those that are there are compared. Of every finding, whatever it is, the commands must be
  // understood and show something.
  void check_explanations(const analyzer::Report& report, const analyzer::Run& run,
                          const analyzer::Analysis& analysis) {
    const int64_t count =
        report.findings ? static_cast<int64_t>(report.findings->size()) : int64_t{0};
    for (int64_t number = 1; number <= count; ++number) {
      const Result<analyzer::Explanation> explanation =
          analyzer::explain(report, number, {.traces = run.traces, .ranks = analysis.ranks});
      ASSERT_TRUE(explanation.ok()) << explanation.error().what;
      for (const analyzer::ExplainedPart& part : explanation->parts) {
        for (const std::string& command : part.commands) check_command(command);
      }
      const path expected = folder_ / fmt::format("explain-{}.txt", number);
      if (exists(expected)) {
        compare(expected, stable(analyzer::render_text(*explanation, {.width = 120}),
                                 run.traces.front().path.parent_path()));
      }
    }
  }

  static void check_command(const std::string& command) {
    const size_t sql = command.find(" \"SELECT");
    const std::string lead = "sqlite3 -header ";
    ASSERT_TRUE(command.starts_with(lead) && sql != std::string::npos) << command;
    const Result<schema::Database> trace = schema::Database::open(
        command.substr(lead.size(), sql - lead.size()), schema::Database::Mode::kReadOnly);
    ASSERT_TRUE(trace.ok()) << command;
    Result<schema::Statement> statement =
        trace->prepare(command.substr(sql + 2, command.size() - sql - 3));
    ASSERT_TRUE(statement.ok()) << command << ": " << statement.error().what;
    const Result<bool> row = statement->step();
    EXPECT_TRUE(row.ok() && *row) << command << " shows nothing";
  }

  void check_query(const path& folder, const Json& json) {
    const Result<std::string> query = read_file(folder_ / "query.sql");
    ASSERT_TRUE(query.ok()) << query.error().what;
    const path trace = folder / test_support::trace_file_name(json.value("rank", 0));
    const Result<schema::Database> database =
        schema::Database::open(trace, schema::Database::Mode::kReadOnly);
    ASSERT_TRUE(database.ok()) << database.error().what;
    Result<schema::Statement> statement = database->prepare(*query);
    ASSERT_TRUE(statement.ok()) << statement.error().what;
    std::string rows;
    const auto line = [&](auto&& cell) {
      for (int c = 0; c < statement->column_count(); ++c)
        rows += fmt::format("{}{}", c > 0 ? "|" : "", cell(c));
      rows += '\n';
    };
    line([&](int c) { return statement->column_name(c); });
    while (true) {
      const Result<bool> more = statement->step();
      ASSERT_TRUE(more.ok()) << more.error().what;
      if (!*more) break;
      line([&](int c) {
        return statement->is_null(c) ? std::string_view("NULL") : statement->text(c);
      });
    }
    compare(folder_ / "expected.txt", rows);
  }

  path folder_;
};

void register_cases() {
  std::vector<path> cases;
  const path root = path(test_support::source_dir()) / "tests" / "golden";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().filename() == "spec.json") cases.push_back(entry.path().parent_path());
  }
  std::ranges::sort(cases);
  for (const path& folder : cases) {
    const std::string area = "Golden_" + folder.parent_path().filename().string();
    ::testing::RegisterTest(area.c_str(), folder.filename().c_str(), nullptr, nullptr, __FILE__,
                            __LINE__,
                            [folder]() -> ::testing::Test* { return new GoldenCase(folder); });
  }
}

}  // namespace
}  // namespace dprof

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const char* update = std::getenv("DPROF_UPDATE_GOLDEN");
  dprof::update_expectations = (update != nullptr && std::string_view(update) == "1") ||
                               std::count(argv, argv + argc, std::string_view("--update")) > 0;
  dprof::register_cases();
  return RUN_ALL_TESTS();
}
