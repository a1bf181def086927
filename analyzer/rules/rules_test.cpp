// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "analyzer/rules/support.h"
#include "analyzer/rules/test_support/rule_run.h"

namespace dprof::analyzer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kStep = 100 * kNsPerMs;
constexpr int64_t kSteps = 10;

// A run of ten steady steps of 100 ms.
Report report_of(int ranks) {
  Report report;
  report.run.steps = StepsInfo{
      .count = 12, .first_steady = 2, .last_steady = 11, .steady = 10, .median_ns = kStep};
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
  const auto found_all = std::ranges::find(findings, rule, &Finding::rule);
  return found_all == findings.end() ? nullptr : &*found_all;
}

std::vector<Finding> found_all(const Report& report, const std::vector<Verdict>& verdicts) {
  return find_all({.report = report, .verdicts = verdicts, .digests = {}});
}

TEST(RulesTest, HealthyRunHasNoFinding) { EXPECT_TRUE(found_all(report_of(4), {}).empty()); }

TEST(RulesTest, CulpritIsSaidWithTheNumbersThatDecided) {
  const std::vector<Finding> findings = found_all(report_of(4), {verdict(2, 15 * kNsPerMs, true)});
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
    return found_all(report_of(4), {verdict(2, ns, named)}).front().severity;
  };
  EXPECT_EQ(severity(10 * kNsPerMs, true), FindingSeverity::kCritical);
  EXPECT_EQ(severity(9 * kNsPerMs, true), FindingSeverity::kWarn);
  EXPECT_EQ(severity(2 * kNsPerMs, true), FindingSeverity::kWarn) << "named with others";
  EXPECT_EQ(severity(2 * kNsPerMs, false), FindingSeverity::kInfo);
  EXPECT_EQ(severity(20 * kNsPerMs, false), FindingSeverity::kInfo);
}

TEST(RulesTest, EveryCauseHasAdviceOfItsOwn) {
  std::set<std::string> advice;
  const std::vector<std::string> causes = {"compute",    "device",          "gpu_throttle",
                                           "gpu_memory", "input_imbalance", "stage_imbalance",
                                           "host",       "cpu_contention",  "rank0_work",
                                           "checkpoint", "synchronisation", "dataloader",
                                           "gc",         "allocator",       "network"};
  for (const std::string& cause : causes) {
    Verdict v = verdict(2, 15 * kNsPerMs, true);
    v.straggler.cause = cause;
    const std::vector<Finding> findings = found_all(report_of(4), {v});
    EXPECT_TRUE(advice.insert(findings.front().advice).second) << cause;
    EXPECT_FALSE(findings.front().refuted_by.empty());
  }
}

TEST(RulesTest, MemoryIsKeptInTheAllocatorThatIsThere) {
  Verdict v = verdict(2, 15 * kNsPerMs, true);
  v.straggler.cause = "allocator";
  std::vector<RankDigest> digests(4);
  const auto advice = [&] {
    return find_all({.report = report_of(4), .verdicts = {v}, .digests = digests}).front().advice;
  };
  EXPECT_THAT(advice(), HasSubstr("MALLOC_TRIM_THRESHOLD_"));
  digests[0].facts.has_gpu = true;
  EXPECT_THAT(advice(), HasSubstr("PYTORCH_CUDA_ALLOC_CONF"));
}

TEST(RulesTest, AWholeHostIsOneFinding) {
  Verdict v = verdict(2, 15 * kNsPerMs, true);
  v.straggler.host = "node-b";
  v.straggler.host_ranks = {2, 3};
  v.straggler.onset_step = 40;
  const Finding f = found_all(report_of(4), {v}).front();
  EXPECT_THAT(f.title, HasSubstr("host node-b (ranks 2, 3) holds everyone up"));
  EXPECT_THAT(f.detail, HasSubstr("since step 40"));
  EXPECT_THAT(f.ranks, ElementsAre(2, 3));
}

TEST(RulesTest, AWholeStageIsNoHost) {
  Verdict v = verdict(2, 15 * kNsPerMs, true);
  v.straggler.role = "stage 2 of 2";
  EXPECT_THAT(found_all(report_of(4), {v}).front().detail,
              HasSubstr("; it is a rank of stage 2 of 2"));
  v.straggler.host_ranks = {2, 3};
  const Finding f = found_all(report_of(4), {v}).front();
  EXPECT_THAT(f.title, ::testing::StartsWith("stage 2 of 2 (ranks 2, 3) holds everyone up"));
  EXPECT_THAT(f.detail, Not(HasSubstr("compared with"))) << "it is the stage itself";
  EXPECT_THAT(f.ranks, ElementsAre(2, 3));
}

TEST(RulesTest, RanksThatWorkTogetherHaveOnePrice) {
  Verdict v = verdict(2, 15 * kNsPerMs, true);
  v.straggler.host_ranks = {2, 3};
  v.straggler.group = "tensor_1";
  const Finding f = found_all(report_of(4), {v}).front();
  EXPECT_THAT(f.title,
              ::testing::StartsWith("ranks 2, 3 together hold everyone up: +15.0 ms per step"));
  EXPECT_THAT(f.detail, HasSubstr("rank 2's input wait is 48.0 ms"));
  EXPECT_THAT(f.detail, HasSubstr("without them a step takes 85.0 ms"));
  EXPECT_THAT(f.detail, HasSubstr("the ranks of tensor_1 wait for each other"));
  EXPECT_THAT(f.ranks, ElementsAre(2, 3));
  v.named = false;
  EXPECT_THAT(found_all(report_of(4), {v}).front().title,
              ::testing::StartsWith("ranks 2, 3 are slower than their peers"));
}

TEST(RulesTest, AHostWithoutANameIsThatOfItsRanks) {
  Verdict v = verdict(2, 15 * kNsPerMs, true);
  v.straggler.host_ranks = {2, 3};
  EXPECT_THAT(found_all(report_of(4), {v}).front().title,
              ::testing::StartsWith("the host of ranks 2, 3 holds everyone up"));
}

TEST(RulesTest, OwnReasonsOfTheVerdictAreReported) {
  Verdict v = verdict(2, 15 * kNsPerMs, true);
  EXPECT_EQ(found_all(report_of(4), {v}).front().decided_by.size(), 3U);
  v.decided_by = {"by this"};
  v.refuted_by = {"by that"};
  EXPECT_THAT(found_all(report_of(4), {v}).front().decided_by, ElementsAre("by this"));
}

TEST(RulesTest, UnnamedIsNotAccused) {
  const std::vector<Finding> findings = found_all(report_of(2), {verdict(1, 20 * kNsPerMs, false)});
  EXPECT_THAT(findings[0].title, HasSubstr("rank 1 is slower than its peers"));
  EXPECT_THAT(findings[0].detail, HasSubstr("by chance"));
}

TEST(RulesTest, ExposedTransfer) {
  Report report = report_of(3);
  for (RankOverlap& rank : report.overlap->per_rank)
    rank.exposed_transfer_ns = kSteps * 12 * kNsPerMs;
  const std::vector<Finding> findings = found_all(report, {});
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
  report.collectives = {{.n = 1, .per_step = 0}};  // only at the start
  EXPECT_THAT(found_all(report, {})[0].advice, HasSubstr("micro-batches"));
  report.collectives->push_back({.n = 10, .per_step = 1});
  EXPECT_THAT(found_all(report, {})[0].advice, HasSubstr("bucket_cap_mb"));
}

TEST(RulesTest, InputBoundNeedsMostRanks) {
  Report report = report_of(4);
  set(report, 0, Category::kInputWait, 20 * kNsPerMs);
  set(report, 1, Category::kInputWait, 20 * kNsPerMs);
  EXPECT_EQ(find(found_all(report, {}), "input.bound"), nullptr);
  set(report, 2, Category::kInputWait, 20 * kNsPerMs);
  const std::vector<Finding> findings = found_all(report, {});
  const Finding* f = find(findings, "input.bound");
  ASSERT_NE(f, nullptr);
  EXPECT_THAT(f->ranks, ElementsAre(0, 1, 2));
}

TEST(RulesTest, WaitingHangsBelowTheCulprit) {
  Report report = report_of(2);
  for (RankOverlap& rank : report.overlap->per_rank) rank.exposed_wait_ns = kSteps * 8 * kNsPerMs;
  std::vector<Finding> findings = found_all(report, {});
  ASSERT_NE(find(findings, "balance.waiting"), nullptr);
  EXPECT_EQ(find(findings, "balance.waiting")->severity, FindingSeverity::kInfo);
  EXPECT_EQ(find(findings, "balance.waiting")->caused_by, std::nullopt);
  findings = found_all(report, {verdict(0, 15 * kNsPerMs, true)});
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].rule, "balance.straggler");
  EXPECT_EQ(findings[1].rule, "balance.waiting");
  EXPECT_EQ(findings[1].caused_by, 0);
}

TEST(RulesTest, ASmallCauseExplainsNoLargeSymptom) {
  Report report = report_of(4);
  for (RankOverlap& rank : report.overlap->per_rank) rank.exposed_wait_ns = kSteps * 30 * kNsPerMs;
  const std::vector<Finding> findings = found_all(report, {verdict(0, 4 * kNsPerMs, true)});
  ASSERT_NE(find(findings, "balance.waiting"), nullptr);
  EXPECT_EQ(find(findings, "balance.waiting")->caused_by, std::nullopt);
}

TEST(RulesTest, CausesAreRankedByTimeAndConfidence) {
  Report report = report_of(4);
  for (RankOverlap& rank : report.overlap->per_rank)
    rank.exposed_transfer_ns = kSteps * 20 * kNsPerMs;  // of which a part could be gained
  std::vector<Finding> findings = found_all(report, {verdict(2, 12 * kNsPerMs, true)});
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].rule, "balance.straggler") << "surely 12 ms, against at most 20 ms";
  EXPECT_GT(findings[1].cost_ns, findings[0].cost_ns);
  findings = found_all(report, {verdict(2, 2 * kNsPerMs, true)});
  EXPECT_EQ(findings[0].rule, "comm.exposed-transfer");
  findings = found_all(report, {verdict(2, 30 * kNsPerMs, false)});
  EXPECT_EQ(findings[1].rule, "balance.straggler") << "not named: behind all that is";
}

TEST(RulesTest, SeverityIsThatOfTheShare) {
  const RuleRun run(2);
  const auto severity = [&](int64_t ns) { return severity_of(share_of(run.input(), ns)); };
  EXPECT_EQ(severity(10 * kNsPerMs), FindingSeverity::kCritical);
  EXPECT_EQ(severity(3 * kNsPerMs), FindingSeverity::kWarn);
  EXPECT_EQ(severity(kNsPerMs), FindingSeverity::kInfo);
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const size_t comma = list.find(", ");
    parts.emplace_back(list.substr(0, comma));
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 2);
  }
  return parts;
}

// The mistakes that dprof-trainer makes on purpose, M1 to M24.
TEST(RuleTables, HaveEveryMistake) {
  std::multiset<std::string> ids;
  for (const Family& family : all_families()) {
    for (const Rule& rule : family.rules) {
      for (const std::string& id : split(rule.ids)) ids.insert(id);
    }
  }
  std::set<std::string> mistakes;
  for (int i = 1; i <= 24; ++i) mistakes.insert("M" + std::to_string(i));
  for (const std::string& id : mistakes) EXPECT_GE(ids.count(id), 1U) << id;
  for (const std::string& id : ids) EXPECT_TRUE(mistakes.contains(id)) << id << " is no mistake";
}

TEST(RuleTables, AreWhole) {
  std::set<std::string> names;
  for (const Family& family : all_families()) {
    for (const Rule& rule : family.rules) {
      EXPECT_TRUE(names.insert(std::string(rule.name)).second) << rule.name << " is listed twice";
      EXPECT_NE(!rule.built(), rule.needs.empty()) << rule.name;
      EXPECT_FALSE(rule.costs.empty()) << rule.name;
      EXPECT_TRUE(!rule.built() || !rule.guard.empty()) << rule.name;
      EXPECT_FALSE(rule.finds.empty()) << rule.name;
      EXPECT_FALSE(rule.advice.empty()) << rule.name;
    }
  }
  for (const Family& family : all_families()) {
    for (const Rule& rule : family.rules) {
      for (const std::string& cause : split(rule.suppressed_by))
        EXPECT_TRUE(names.contains(cause)) << rule.name << " hangs below " << cause;
    }
  }
}

TEST(RuleTables, ThePageNamesThemAll) {
  const std::string page = rules_page();
  for (const Family& family : all_families()) {
    for (const Rule& rule : family.rules)
      EXPECT_THAT(page, HasSubstr("\n### " + std::string(rule.name))) << rule.name;
  }
}

TEST(RulesTest, LostRecordsAreSaid) {
  Report report = report_of(2);
  report.recording.events = 100'000;
  report.recording.lost = {{.rank = 1, .count = 10}};
  EXPECT_EQ(found_all(report, {}).front().severity, FindingSeverity::kInfo);
  report.recording.lost[0].count = 5'000;
  const std::vector<Finding> findings = found_all(report, {});
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
  const std::vector<Finding> findings = found_all(report, {verdict(2, 90 * kNsPerMs, true)});
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].rule, "comm.hang");
  EXPECT_EQ(findings[0].title,
            "rank 1 died; the others waited for it in all_reduce #7 of default_pg");
  EXPECT_THAT(findings[0].detail, HasSubstr("ranks 0, 2"));
}

}  // namespace
}  // namespace dprof::analyzer
