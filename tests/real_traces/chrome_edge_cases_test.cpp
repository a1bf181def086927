// SPDX-License-Identifier: Apache-2.0
// Small odd Chrome JSON files (google/perfetto ec5d16b, Apache-2.0) with what that tool makes of
// them. Compared is what both say: names, starts and lengths. Its own conventions are not: -1 for a
// range without an end is "open" here; global and process-wide instants have no thread there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "tests/real_traces/real_traces.h"

namespace dprof::real_traces {
namespace {

using ::testing::UnorderedElementsAreArray;

// Start on the file's clock (the earliest row is time 0 in a trace), length (-1 = open), name.
using Slice = std::tuple<int64_t, int64_t, std::string>;

struct EdgeCase {
  const char* name;
  std::vector<Slice> slices;
  int64_t skipped;  // rows that are in no table
  bool damaged = false;
};

const EdgeCase kCases[] = {
    {"args_ordered", {{40'000'000, -1, "Event1"}, {40'000'000, -1, "Event2"}}, 0},
    {"flow_events_json_v1",
     {{3'002'000, 10'000, "SenderA"},
      {0, 10'000, "SenderB"},
      {1'002'000, 100'000, "Blergh"},
      {3'200'000, 500'000, "OtherSlice"},
      {3'331'000, 400'000, "SomeSlice"}},
     5},
    {"invalid_string_ts_and_dur", {}, 2},
    {"json_all_slice_types",
     {{100'000, -1, "BeginEvent"},
      {250'000, 50'000, "CompleteEvent"},
      {300'000, 0, "InstantGlobal"},
      {310'000, 0, "InstantProcess"},
      {320'000, 0, "InstantThread"},
      {330'000, 0, "InstantDefaultScope"},
      {340'000, 0, "InstantR"},
      {350'000, 0, "Instanti"}},
     1},
    {"json_counter_args", {}, 1},
    {"json_extreme_vals",
     {{1'100'000, -1, "BeginNoTTS"}, {1'300'000, 50'000, "CompleteNoTDUR"}},
     2},
    {"json_id2_global_string_id", {{4'000'000, 100'000, "AsyncId2GlobalString"}}, 0},
    {"json_id2_local_string_id", {{4'000'000, 100'000, "AsyncId2LocalString"}}, 0},
    {"json_incomplete", {{4'619'295'550'000, 8'000'000, "typecheck"}}, 0, true},
    {"json_metadata",
     {{790'000, 25'000, "ActivityOnThread31"},
      {900'000, 50'000, "EventMissingCatAndArgs"},
      {960'000, 10'000, "PidOnlyEvent"},
      {970'000, 10'000, "NoPidNoTidEvent"}},
     6},
    {"json_metadata_missing_or_invalid_ts", {}, 3},
    {"json_pid_tid_zero",
     {{0, 4'000, "RoutineControl Reeq"},
      {0, 1'000, "31 "},
      {0, 1'000, "RoutineControl"},
      {1'000, 1'000, "01 "},
      {1'000, 1'000, "startRoutine"},
      {2'000, 2'000, "02 03 "},
      {2'000, 2'000, "Routine Identifier"}},
     0},
    {"json_thread_state", {}, 7},
    {"json_trace_metadata", {{0, 10'000, "slice"}}, 0},
    {"json_trailing_comma",
     {{4'890'000, 3'764'289'708, "Bar"}, {3'473'608'458, 295'555'500, "Foo"}},
     0},
    {"overlapping_complete_event_recovered",
     {{100'000, 100'000, "outer"}, {150'000, 100'000, "inner"}},
     0},
    {"string_pid_tid", {{5'100, 500'100, "name.exec"}}, 0},
    {"string_ts_and_dur",
     {{100'000, 100'500, "BeginEvent"}, {250'000, 50'500, "CompleteEvent"}},
     0},
    {"string_ts_trailing_chars", {}, 2},
    {"string_tts_and_tdur", {{400'000, 100'000, "StringTtsTdur"}}, 0},
    {"trailing_empty_event", {{1'000, 2'000, "real_event"}}, 1},
    {"x_event_order", {{1'000, 10'000, "Parent"}, {1'000, 5'000, "Child"}}, 0},
};

class ChromeEdgeCaseTest : public ::testing::TestWithParam<EdgeCase> {};

TEST_P(ChromeEdgeCaseTest, SlicesAreThoseOfTheTool) {
  const EdgeCase& c = GetParam();
  const Imported imported({std::string("chrome_json_edge_cases/") + c.name + ".json"});
  DPROF_SKIP_IF_ABSENT(imported);
  EXPECT_EQ(imported.summary().damaged, c.damaged);
  ASSERT_EQ(imported.summary().files.size(), 1U);
  EXPECT_EQ(imported.summary().files[0].skipped, c.skipped);
  const schema::TraceReader trace = imported.trace(0);
  EXPECT_EQ(trace.meta("imported_format"), "chrome");
  if (c.slices.empty()) return;
  std::vector<Slice> want = c.slices;
  const int64_t first = std::get<0>(*std::ranges::min_element(want));
  for (Slice& slice : want) std::get<0>(slice) -= first;
  std::vector<Slice> got;
  for (const NamedRange& range : ranges_of(trace))
    got.emplace_back(range.row.start_ns, range.row.duration_ns.value_or(-1), range.name);
  EXPECT_THAT(got, UnorderedElementsAreArray(want));
}

INSTANTIATE_TEST_SUITE_P(Perfetto, ChromeEdgeCaseTest, ::testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

// All 32: none crashes, and every row of each is in a table or counted with its cause.
TEST(ChromeEdgeCasesTest, EachSaysWhatWasSkipped) {
  const Imported imported({"chrome_json_edge_cases"});
  DPROF_SKIP_IF_ABSENT(imported);
  const auto& files = imported.summary().files;
  ASSERT_EQ(files.size(), 32U);
  std::set<std::string> cut;
  for (const analyzer::Diagnostic& diagnostic : imported.summary().diagnostics) {
    if (diagnostic.code == "import_cut")
      cut.insert(diagnostic.text.substr(0, diagnostic.text.find(':')));
  }
  EXPECT_THAT(cut, ::testing::ElementsAre("json_incomplete.json"));
  for (const analyzer::ImportedFile& file : files) {
    SCOPED_TRACE(file.path);
    ASSERT_EQ(file.ranks.size(), 1U);
    const schema::TraceReader trace = imported.trace(file.ranks[0]);
    int64_t lost = 0;
    int64_t reported = 0;
    for (const schema::LossRow& row : rows<schema::LossRow>(trace)) lost += row.count;
    for (const schema::DiagnosticRow& row : rows<schema::DiagnosticRow>(trace)) {
      if (row.code == "import_skipped" || row.code == "import_repeats") reported += row.count;
    }
    EXPECT_EQ(lost, file.skipped);
    EXPECT_EQ(reported, file.skipped);
    EXPECT_GT(file.rows + file.skipped, 0);
  }
}

}  // namespace
}  // namespace dprof::real_traces
