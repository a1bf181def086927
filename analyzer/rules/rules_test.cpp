// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace dprof::analyzer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kStep = 100 * kNsPerMs;
constexpr int64_t kSteps = 10;

// A run of ten steady steps of 100 ms.
Report report_of(int ranks) {
  Report report;
  report.run.steps =
      StepsInfo{.count = 12, .first_steady = 2, .last_steady = 11, .median_ns = kStep};
  report.breakdown.emplace();
  report.overlap.emplace();
  for (int r = 0; r < ranks; ++r) {
    report.breakdown->per_rank.push_back({.rank = r, .wall_ns = kSteps * kStep, .detail_ns = {}});
    report.overlap->per_rank.push_back({.rank = r});
  }
  return report;
}

void set(Report& report, int rank, Category category, int64_t per_step_ns) {
  report.breakdown->per_rank[static_cast<size_t>(rank)].category_ns[static_cast<size_t>(category)] =
      kSteps * per_step_ns;
}

Verdict verdict(int rank, int64_t cost_ns, bool named) {
  Verdict v;
  v.straggler.rank = rank;
  v.straggler.shape = "persistent";
  v.straggler.cause = "dataloader";
  v.straggler.cost_ns = cost_ns;
  v.straggler.bound_ns = kNsPerMs;
  v.straggler.confidence = 0.9;
  v.named = named;
  v.share_of_steps = 0.98;
  v.step_ns = kStep - cost_ns;
  v.kind = "input wait";
  v.kind_ns = 48 * kNsPerMs;
  v.peers_kind_ns = 2 * kNsPerMs;
  return v;
}

const Finding* find(const std::vector<Finding>& findings, std::string_view rule) {
  const auto found = std::ranges::find(findings, rule, &Finding::rule);
  return found == findings.end() ? nullptr : &*found;
}

TEST(RulesTest, HealthyRunHasNoFinding) { EXPECT_TRUE(find_all(report_of(4), {}).empty()); }

TEST(RulesTest, CulpritIsSaidWithTheNumbersThatDecided) {
  const std::vector<Finding> findings = find_all(report_of(4), {verdict(2, 15 * kNsPerMs, true)});
  ASSERT_EQ(findings.size(), 1U);
  const Finding& f = findings[0];
  EXPECT_EQ(f.rule, "balance.straggler");
  EXPECT_EQ(f.title, "rank 2 holds everyone up: +15.0 ms per step (15 %), in 98 % of steps");
  EXPECT_THAT(f.detail, HasSubstr("its input wait is 48.0 ms, the other ranks' median 2.0 ms"));
  EXPECT_THAT(f.detail, HasSubstr("85.0 ms"));
  EXPECT_EQ(f.severity, FindingSeverity::kCritical);
  EXPECT_THAT(f.ranks, ElementsAre(2));
  EXPECT_FALSE(f.advice.empty());
}

TEST(RulesTest, SeverityFollowsTheCost) {
  const auto severity = [](int64_t ns, bool named) {
    return find_all(report_of(4), {verdict(2, ns, named)}).front().severity;
  };
  EXPECT_EQ(severity(10 * kNsPerMs, true), FindingSeverity::kCritical);
  EXPECT_EQ(severity(9 * kNsPerMs, true), FindingSeverity::kWarn);
  EXPECT_EQ(severity(2 * kNsPerMs, false), FindingSeverity::kInfo);
  EXPECT_EQ(severity(20 * kNsPerMs, false), FindingSeverity::kInfo);
}

TEST(RulesTest, UnnamedIsNotAccused) {
  const std::vector<Finding> findings = find_all(report_of(2), {verdict(1, 20 * kNsPerMs, false)});
  EXPECT_THAT(findings[0].title, HasSubstr("rank 1 is slower than its peers"));
  EXPECT_THAT(findings[0].detail, HasSubstr("by chance"));
}

TEST(RulesTest, ExposedTransfer) {
  Report report = report_of(3);
  for (RankOverlap& rank : report.overlap->per_rank)
    rank.exposed_transfer_ns = kSteps * 12 * kNsPerMs;
  const std::vector<Finding> findings = find_all(report, {});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "comm.exposed-transfer");
  EXPECT_EQ(findings[0].severity, FindingSeverity::kCritical);
  EXPECT_EQ(findings[0].cost_ns, 12 * kNsPerMs);
}

TEST(RulesTest, AdviceAgainstTransfersFitsWhatIsTransferred) {
  Report report = report_of(3);
  for (RankOverlap& rank : report.overlap->per_rank)
    rank.exposed_transfer_ns = kSteps * 12 * kNsPerMs;
  report.point_to_point = {{.from = 0, .to = 1, .n = 40, .per_step = 4}};
  report.collectives = {{.n = 1, .per_step = 0}};  // at the start only
  EXPECT_THAT(find_all(report, {})[0].advice, HasSubstr("micro-batches"));
  report.collectives->push_back({.n = 10, .per_step = 1});
  EXPECT_THAT(find_all(report, {})[0].advice, HasSubstr("bucket_cap_mb"));
}

TEST(RulesTest, InputBoundNeedsMostRanks) {
  Report report = report_of(4);
  set(report, 0, Category::kInputWait, 20 * kNsPerMs);
  set(report, 1, Category::kInputWait, 20 * kNsPerMs);
  EXPECT_EQ(find(find_all(report, {}), "input.bound"), nullptr);
  set(report, 2, Category::kInputWait, 20 * kNsPerMs);
  const std::vector<Finding> findings = find_all(report, {});
  const Finding* f = find(findings, "input.bound");
  ASSERT_NE(f, nullptr);
  EXPECT_THAT(f->ranks, ElementsAre(0, 1, 2));
}

TEST(RulesTest, WaitingIsAFindingOfItsOwnOnlyWithoutACulprit) {
  Report report = report_of(2);
  for (RankOverlap& rank : report.overlap->per_rank) rank.exposed_wait_ns = kSteps * 8 * kNsPerMs;
  std::vector<Finding> findings = find_all(report, {});
  ASSERT_NE(find(findings, "balance.waiting"), nullptr);
  EXPECT_EQ(find(findings, "balance.waiting")->severity, FindingSeverity::kInfo);
  findings = find_all(report, {verdict(0, 15 * kNsPerMs, true)});
  EXPECT_EQ(find(findings, "balance.waiting"), nullptr);
}

TEST(RulesTest, LostRecordsAreSaid) {
  Report report = report_of(2);
  report.recording.events = 100'000;
  report.recording.lost = {{.rank = 1, .count = 10}};
  EXPECT_EQ(find_all(report, {}).front().severity, FindingSeverity::kInfo);
  report.recording.lost[0].count = 5'000;
  const std::vector<Finding> findings = find_all(report, {});
  EXPECT_EQ(findings.front().rule, "hygiene.lost-records");
  EXPECT_EQ(findings.front().severity, FindingSeverity::kWarn);
}

TEST(RulesTest, HangComesFirst) {
  Report report = report_of(3);
  report.hang = Hang{.state = "dead",
                     .culprits = {1},
                     .waiting = {0, 2},
                     .communicator = "default_pg",
                     .function = schema::Function::kAllReduce,
                     .sequence = 7};
  const std::vector<Finding> findings = find_all(report, {verdict(2, 90 * kNsPerMs, true)});
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].rule, "comm.hang");
  EXPECT_EQ(findings[0].title,
            "rank 1 died; the others waited for it in all_reduce #7 of default_pg");
  EXPECT_THAT(findings[0].detail, HasSubstr("ranks 0, 2"));
}

}  // namespace
}  // namespace dprof::analyzer
