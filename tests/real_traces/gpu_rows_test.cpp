// SPDX-License-Identifier: Apache-2.0
// GPU rows of real recordings, against interval arithmetic on the files themselves and against the
// tables of the tool that came with them:
//   dlrm_8gpu            facebookresearch/param 1e115ff, MIT
//   nanosecond_times, collective_metadata
//                        facebookresearch/HolisticTraceAnalysis f4d0062, MIT
//   mi300_ddp, h100_inference
//                        AMD-AGI/TraceLens 171dd74, MIT: gpu_timeline.csv, kernel_summary.csv
#include "analyzer/breakdown/gpu_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <tuple>

#include "analyzer/analysis.h"
#include "analyzer/digest/attribution.h"
#include "tests/real_traces/real_traces.h"

namespace dprof::real_traces {
namespace {

using analyzer::RankGpuRows;
using analyzer::RowFilter;

// --- the file itself, by a plain parser ---

// Numbers after `key` become strings: a double cannot hold the nanoseconds of a date.
void quote_numbers(std::string& text, const std::string& key) {
  std::string quoted;
  size_t from = 0;
  for (size_t at = 0; (at = text.find(key, from)) != std::string::npos;) {
    size_t begin = at + key.size();
    while (text[begin] == ' ') ++begin;
    const size_t end = text.find_first_not_of("0123456789.", begin);
    quoted.append(text, from, begin - from);
    quoted += '"' + text.substr(begin, end - begin) + '"';
    from = end;
  }
  quoted.append(text, from);
  text = std::move(quoted);
}

int64_t ns_of(const std::string& microseconds) {
  const size_t point = microseconds.find('.');
  std::string digits = microseconds.substr(0, point);
  std::string rest = point == std::string::npos ? "" : microseconds.substr(point + 1);
  rest.resize(3, '0');
  return std::stoll(digits + rest);
}

struct FileRow {
  Interval span;
  std::string category;
  std::string name;
  std::optional<int64_t> correlation;

  [[nodiscard]] bool copies() const { return category == "gpu_memcpy"; }
  [[nodiscard]] bool fills() const { return category == "gpu_memset"; }
  [[nodiscard]] bool communicates() const {
    return category == "kernel" && name.starts_with("nccl");
  }
};

struct FileRows {
  std::vector<FileRow> gpu;
  std::set<int64_t> called;              // correlations of runtime and driver calls
  std::map<int64_t, int64_t> called_at;  // their begin
  std::set<std::string> steps;
  int64_t last_step = INT64_MIN;
};

const FileRows& read(const std::string& file) {
  static std::map<std::string, FileRows> files;
  const auto [at, is_new] = files.try_emplace(file);
  FileRows& rows = at->second;
  if (!is_new) return rows;
  std::string text = content_of(shared_traces() / file);
  for (const char* key : {"\"ts\":", "\"dur\":"}) quote_numbers(text, key);
  const nlohmann::json all = nlohmann::json::parse(text);
  for (const nlohmann::json& event : all["traceEvents"]) {
    if (event.value("ph", "") != "X" || !event.contains("args")) continue;
    const std::string category = event.value("cat", "");
    const std::string name = event.value("name", "");
    const int64_t begin = ns_of(event["ts"].get<std::string>());
    std::optional<int64_t> correlation;
    if (const auto known = event["args"].find("correlation"); known != event["args"].end())
      correlation = known->get<int64_t>();
    if (category == "user_annotation" && name.starts_with("ProfilerStep#")) {
      rows.steps.insert(name);
      rows.last_step = std::max(rows.last_step, begin);
    }
    if ((category == "cuda_runtime" || category == "cuda_driver") && correlation) {
      rows.called.insert(*correlation);
      rows.called_at.try_emplace(*correlation, begin);
    }
    if (category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset") {
      const int64_t end = begin + ns_of(event["dur"].get<std::string>());
      rows.gpu.push_back({{{begin}, {end}}, category, name, correlation});
    }
  }
  return rows;
}

template <typename Wanted>
IntervalSet cover_of(const std::vector<FileRow>& rows, Wanted&& wanted) {
  return cover(rows, std::forward<Wanted>(wanted));
}

struct Expected {
  int64_t rows = 0, span = 0, busy = 0, compute = 0, communication = 0, memory = 0, overlap = 0;
};

Expected expected_of(const std::vector<FileRow>& rows, bool memset_computes) {
  const auto computes = [&](const FileRow& r) {
    return !r.communicates() && !r.copies() && (memset_computes || !r.fills());
  };
  const auto moves = [&](const FileRow& r) {
    return r.copies() || (!memset_computes && r.fills());
  };
  const IntervalSet busy = cover_of(rows, [](const FileRow&) { return true; });
  const IntervalSet compute = cover_of(rows, computes);
  const IntervalSet communication =
      cover_of(rows, [](const FileRow& r) { return r.communicates(); });
  return {static_cast<int64_t>(rows.size()),
          (busy.back().end - busy.front().begin).ns,
          measure(busy).ns,
          measure(compute).ns,
          measure(communication).ns,
          measure(cover_of(rows, moves)).ns,
          measure(intersection_of(compute, communication)).ns};
}

void compare(const RankGpuRows& found, const Expected& expected) {
  EXPECT_EQ(found.rows, expected.rows);
  EXPECT_EQ(found.span_ns, expected.span);
  EXPECT_EQ(found.busy_ns, expected.busy);
  EXPECT_EQ(found.idle_ns, expected.span - expected.busy);
  EXPECT_EQ(found.compute_ns, expected.compute);
  EXPECT_EQ(found.communication_ns, expected.communication);
  EXPECT_EQ(found.memory_ns, expected.memory);
  EXPECT_EQ(found.overlap_ns, expected.overlap);
}

analyzer::GpuRows rows_of(const Imported& imported, RowFilter filter) {
  const Result<analyzer::Run> run = analyzer::open_run({imported.run()});
  EXPECT_TRUE(run.ok());
  std::vector<analyzer::RankDigest> digests;
  for (const analyzer::TraceFile& trace : run->traces) {
    Result<analyzer::RankDigest> digest = analyzer::digest_rank(trace);
    EXPECT_TRUE(digest.ok());
    digests.push_back(*std::move(digest));
  }
  const auto rows = analyzer::gpu_rows_of(digests, filter);
  EXPECT_TRUE(rows.has_value());
  return *rows;
}

// The first line of a table whose first column is `type` and whose last one is `last`, in ns.
int64_t from_table(const std::string& file, const std::string& type, const std::string& last = "") {
  std::ifstream table(shared_traces() / file);
  for (std::string line; std::getline(table, line);) {
    if (!line.starts_with(type + ",") || !line.ends_with(last)) continue;
    const double ms = std::stod(line.substr(type.size() + 1));
    return std::llround(ms * 1e6);
  }
  ADD_FAILURE() << file << " has no " << type;
  return 0;
}

// The tool adds up doubles of microseconds since some date.
constexpr int64_t kRounding = 100;

void expect_near(int64_t found, int64_t expected) {
  EXPECT_LE(std::abs(found - expected), kRounding) << found << " against " << expected;
}

constexpr const char* kMi300 = "mi300_ddp/resnet_act_checkpoint.json.gz";
constexpr const char* kH100 = "h100_inference/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz";

TEST(RealGpuRowsTest, EightRanksEqualIntervalArithmetic) {
  const Imported& imported = imported_once({"dlrm_8gpu"});
  DPROF_SKIP_IF_ABSENT(imported);
  const analyzer::GpuRows rows = rows_of(imported, RowFilter::kAll);
  ASSERT_EQ(rows.per_rank.size(), 8U);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(shared_traces() / "dlrm_8gpu")) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("worker")) continue;
    SCOPED_TRACE(name);
    const size_t rank = static_cast<size_t>(name[6] - '0');
    ASSERT_LT(rank, 8U);
    EXPECT_EQ(rows.per_rank[rank].rank, static_cast<int>(rank));
    compare(rows.per_rank[rank], expected_of(read("dlrm_8gpu/" + name).gpu, false));
    EXPECT_GT(rows.per_rank[rank].communication_ns, 0);
    ++files;
  }
  EXPECT_EQ(files, 8);
}

TEST(RealGpuRowsTest, EveryModeOnOneRank) {
  for (const char* file : {"nanosecond_times/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
                           "collective_metadata/nccl_data.json.gz", kMi300, kH100}) {
    SCOPED_TRACE(file);
    const Imported& imported = imported_once({file});
    DPROF_SKIP_IF_ABSENT(imported);
    const FileRows& rows = read(file);
    compare(rows_of(imported, RowFilter::kAll).per_rank.at(0), expected_of(rows.gpu, false));
    std::vector<FileRow> linked = rows.gpu;
    std::erase_if(linked, [&](const FileRow& r) {
      return !r.correlation || !rows.called.contains(*r.correlation);
    });
    compare(rows_of(imported, RowFilter::kLinked).per_rank.at(0), expected_of(linked, true));

    std::vector<FileRow> in_steps = rows.steps.size() < 2 ? rows.gpu : linked;
    if (rows.steps.size() >= 2) {
      std::erase_if(in_steps, [&](const FileRow& r) {
        return rows.called_at.at(*r.correlation) >= rows.last_step;
      });
    }
    for (FileRow& row : in_steps) {
      row.span.begin.ns = (row.span.begin.ns + 999) / 1000 * 1000;
      row.span.end.ns = row.span.end.ns / 1000 * 1000;
    }
    const RankGpuRows hta = rows_of(imported, RowFilter::kStepsHta).per_rank.at(0);
    const Expected expected = expected_of(in_steps, false);
    EXPECT_EQ(hta.rows, expected.rows);
    EXPECT_EQ(hta.compute_ns, expected.compute);
    EXPECT_EQ(hta.communication_ns, expected.communication);
    EXPECT_EQ(hta.memory_ns, expected.memory);
    EXPECT_EQ(hta.busy_ns, expected.busy);
  }
}

TEST(RealGpuRowsTest, InferenceIsThatOfItsTable) {
  const Imported& imported = imported_once({kH100});
  DPROF_SKIP_IF_ABSENT(imported);
  const RankGpuRows rows = rows_of(imported, RowFilter::kLinked).per_rank.at(0);
  const std::string table = "h100_inference/gpu_timeline.csv";
  expect_near(rows.compute_ns, from_table(table, "computation_time"));
  expect_near(rows.busy_ns, from_table(table, "busy_time"));
  expect_near(rows.idle_ns, from_table(table, "idle_time"));
  expect_near(rows.span_ns, from_table(table, "total_time"));
  expect_near(rows.memory_ns, from_table(table, "total_memcpy_time"));
  EXPECT_EQ(rows.communication_ns, 0);
}

// The tool divides by whether a kernel belongs to a recomputed forward; together these are all. It
// goes by the file's flow events, which this recording has for no memset: those are taken out here.
TEST(RealGpuRowsTest, TrainingOnMi300IsThatOfItsTable) {
  const Imported& imported = imported_once({kMi300});
  DPROF_SKIP_IF_ABSENT(imported);
  const RankGpuRows rows = rows_of(imported, RowFilter::kLinked).per_rank.at(0);
  const std::string table = "mi300_ddp/gpu_timeline.csv";
  expect_near(rows.span_ns, from_table(table, "total_time", "False"));
  expect_near(rows.communication_ns, from_table(table, "total_comm_time", "False"));
  expect_near(rows.memory_ns, from_table(table, "total_memcpy_time", "False"));

  const FileRows& file = read(kMi300);
  const auto linked = [&](const FileRow& r) {
    return r.correlation && file.called.contains(*r.correlation);
  };
  const IntervalSet fills =
      cover_of(file.gpu, [&](const FileRow& r) { return linked(r) && r.fills(); });
  const IntervalSet kernels = cover_of(file.gpu, [&](const FileRow& r) {
    return linked(r) && r.category == "kernel" && !r.communicates();
  });
  const int64_t fills_alone = measure(difference_of(fills, kernels)).ns;
  EXPECT_GT(fills_alone, 0);
  expect_near(rows.compute_ns - fills_alone, from_table(table, "computation_time", "False") +
                                                 from_table(table, "computation_time", "True"));
}

// --- attribution: each kernel to the operator that launched it ---

struct KernelGroup {
  int64_t count = 0;
  double total_us = 0;
};
using KernelGroups = std::map<std::tuple<std::string, std::string>, KernelGroup>;

// Fields of one line; quotes hold commas together.
std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

KernelGroups table_of_kernels() {
  KernelGroups groups;
  std::ifstream table(shared_traces() / "h100_inference/kernel_summary.csv");
  std::string line;
  std::getline(table, line);
  while (std::getline(table, line)) {
    const std::vector<std::string> fields = fields_of(line);
    KernelGroup& group = groups[{fields.at(1), fields.at(2)}];
    group.total_us += std::stod(fields.at(4));
    group.count += static_cast<int64_t>(std::stod(fields.at(5)));
  }
  return groups;
}

TEST(RealAttributionTest, KernelsBelongToTheOperatorsOfTheTable) {
  const Imported& imported = imported_once({kH100});
  DPROF_SKIP_IF_ABSENT(imported);
  const schema::TraceReader trace = imported.trace(0);
  std::vector<analyzer::NestedRange> ranges;
  std::vector<std::string> names;
  std::vector<analyzer::LaunchCall> launches;
  for (const NamedRange& range : ranges_of(trace)) {
    const auto thread = static_cast<int32_t>(range.row.thread_id);
    if (range.row.category == schema::RangeCategory::kApi && range.row.correlation) {
      launches.push_back({range.span.begin, *range.row.correlation, thread});
    } else if (range.row.category == schema::RangeCategory::kOp) {
      ranges.push_back({range.span.begin, range.span.end, thread});
      names.push_back(range.name);
    }
  }
  const analyzer::Attribution attribution = analyzer::attribute(ranges, launches);
  const analyzer::LaunchIndex index(launches);
  KernelGroups found;
  for (const NamedActivity& activity : activities_of(trace)) {
    if (activity.row.kind != schema::GpuActivityKind::kKernel) continue;
    const int32_t launch = index.find(activity.row.correlation.value_or(0));
    const int32_t owner = launch == analyzer::kNoRange
                              ? analyzer::kNoRange
                              : attribution.owner[static_cast<size_t>(launch)];
    const std::string op = owner == analyzer::kNoRange ? "" : names[static_cast<size_t>(owner)];
    KernelGroup& group = found[{op, activity.name}];
    ++group.count;
    group.total_us += static_cast<double>(activity.span.length().ns) / 1e3;
  }
  const KernelGroups expected = table_of_kernels();
  EXPECT_EQ(expected.size(), 44U);
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [key, group] : expected) {
    SCOPED_TRACE(std::get<0>(key) + " " + std::get<1>(key));
    ASSERT_TRUE(found.contains(key));
    EXPECT_EQ(found[key].count, group.count);
    EXPECT_NEAR(found[key].total_us, group.total_us, 0.1);
  }
}

// --- the breakdown of the same recordings ---

TEST(RealBreakdownTest, PiecesAreAnExactPartitionAndBusyAsCounted) {
  for (const char* file : {"dlrm_8gpu", "collective_metadata/nccl_data.json.gz", kMi300, kH100}) {
    SCOPED_TRACE(file);
    const Imported& imported = imported_once({file});
    DPROF_SKIP_IF_ABSENT(imported);
    const Result<analyzer::Run> run = analyzer::open_run({imported.run()});
    ASSERT_TRUE(run.ok());
    const Result<analyzer::Analysis> analysis = analyzer::analyze(*run);
    ASSERT_TRUE(analysis.ok());
    const analyzer::GpuRows rows = rows_of(imported, RowFilter::kAll);
    ASSERT_EQ(analysis->ranks.size(), rows.per_rank.size());
    for (size_t r = 0; r < rows.per_rank.size(); ++r) {
      const std::vector<analyzer::Piece>& pieces = analysis->ranks[r].pieces;
      ASSERT_FALSE(pieces.empty());
      int64_t computed = 0, overlapped = 0, transferred = 0;
      for (size_t p = 0; p < pieces.size(); ++p) {
        const analyzer::Piece& piece = pieces[p];
        ASSERT_FALSE(piece.span.empty());
        if (p > 0) {
          ASSERT_EQ(piece.span.begin, pieces[p - 1].span.end);
        }
        const int64_t ns = piece.span.length().ns;
        if (piece.category <= analyzer::Category::kOtherCompute) computed += ns;
        if (piece.category == analyzer::Category::kOverlapped) overlapped += ns;
        if (piece.category == analyzer::Category::kExposedTransfer ||
            piece.category == analyzer::Category::kExposedWait)
          transferred += ns;
      }
      EXPECT_EQ(overlapped, rows.per_rank[r].overlap_ns);
      EXPECT_EQ(computed, rows.per_rank[r].compute_ns - rows.per_rank[r].overlap_ns);
      // The host's own waiting for a collective, with nothing on the device, comes on top.
      EXPECT_GE(transferred, rows.per_rank[r].communication_ns - rows.per_rank[r].overlap_ns);
    }
  }
}

}  // namespace
}  // namespace dprof::real_traces
