// SPDX-License-Identifier: Apache-2.0
// For tests: small traces of a rank with GPUs, written by hand and digested. Times in microseconds.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/breakdown/lattice.h"
#include "analyzer/breakdown/sums.h"
#include "analyzer/digest/digest.h"
#include "schema/trace_writer.h"
#include "tests/support/temporary_folder.h"

namespace dprof::analyzer {

class GpuTrace {
 public:
  static constexpr int64_t kUs = 1000;

  explicit GpuTrace(int64_t unit_ns = kUs) : unit_(unit_ns) {}

  schema::HostRangeRow& range(int64_t thread, int64_t begin, int64_t end, std::string name,
                              schema::RangeCategory category = schema::RangeCategory::kUser) {
    schema::HostRangeRow row;
    row.thread_id = thread;
    row.start_ns = begin * unit_;
    row.duration_ns = (end - begin) * unit_;
    row.category = category;
    ranges_.push_back({row, std::move(name)});
    return ranges_.back().row;
  }
  void op(int64_t thread, int64_t begin, int64_t end, std::string name = "aten::add") {
    range(thread, begin, end, std::move(name), schema::RangeCategory::kOp);
  }
  void call(int64_t thread, int64_t begin, int64_t end, std::string name) {
    range(thread, begin, end, std::move(name), schema::RangeCategory::kApi);
  }
  // The launching call; launched activities refer to it by the returned number.
  int64_t launch(int64_t thread, int64_t begin, int64_t end,
                 std::string name = "cudaLaunchKernel") {
    range(thread, begin, end, std::move(name), schema::RangeCategory::kApi).correlation =
        ++correlation_;
    return correlation_;
  }
  schema::GpuActivityRow& activity(
      int64_t stream, int64_t begin, int64_t end, int64_t correlation, std::string name = "gemm",
      schema::GpuActivityKind kind = schema::GpuActivityKind::kKernel) {
    schema::GpuActivityRow row;
    row.stream_id = stream;
    row.start_ns = begin * unit_;
    row.duration_ns = (end - begin) * unit_;
    if (correlation != 0) row.correlation = correlation;
    row.kind = kind;
    activities_.push_back({row, std::move(name)});
    return activities_.back().row;
  }
  // A kernel launched one unit before it begins.
  void kernel(int64_t thread, int64_t stream, int64_t begin, int64_t end,
              std::string name = "gemm") {
    activity(stream, begin, end, launch(thread, begin - 1, begin), std::move(name));
  }
  void wait_for(int64_t stream, int64_t called, int64_t source, int64_t recorded) {
    schema::GpuDependencyRow row;
    row.event = 1;
    row.record_stream_id = source;
    row.wait_stream_id = stream;
    row.record_ns = recorded * unit_;
    row.wait_ns = called * unit_;
    dependencies_.push_back(row);
  }
  schema::CollectiveRow& collective(int64_t correlation) {
    schema::CollectiveRow row;
    row.function = schema::Function::kAllReduce;
    row.correlation = correlation;
    row.state = schema::CollectiveState::kComplete;
    collectives_.push_back(row);
    return collectives_.back();
  }
  void step(int64_t index, int64_t begin, int64_t end) {
    steps_.push_back({index, begin * unit_, end * unit_, schema::StepSource::kMarker});
  }
  void loss(schema::Source source, int64_t first, int64_t last) {
    losses_.push_back(
        {source, {}, schema::LossReason::kCuptiDropped, 3, first * unit_, last * unit_});
  }
  void run_queue(int64_t os_tid, int64_t at, int64_t waited) {
    samples_.push_back({os_tid, at * unit_, waited * unit_});
  }
  void stream_number(int64_t id, int64_t cuda_stream) { cuda_streams_[id] = cuda_stream; }
  void set_meta(std::string key, std::string value) { meta_[std::move(key)] = std::move(value); }

  TraceFile write(const std::filesystem::path& path) {
    auto writer = schema::TraceWriter::create(path);
    EXPECT_TRUE(writer.ok());
    schema::TraceWriter& out = **writer;
    for (const auto& [key, value] : meta_) out.set_meta(key, value);
    int64_t id = 0;
    std::ranges::stable_sort(ranges_, [](const Named& a, const Named& b) {
      return std::pair(a.row.start_ns, -a.row.duration_ns.value_or(INT64_MAX)) <
             std::pair(b.row.start_ns, -b.row.duration_ns.value_or(INT64_MAX));
    });
    for (int64_t thread = 0; thread < 4; ++thread)
      put(out, schema::ThreadRow{thread, 100 + thread, {}, schema::ThreadRole::kOther});
    for (auto& [row, name] : ranges_) {
      row.id = ++id;
      row.name_id = out.intern(name);
      put(out, row);
    }
    id = 0;
    for (auto& [row, name] : activities_) {
      row.id = ++id;
      row.name_id = out.intern(name);
      put(out, row);
    }
    id = 0;
    for (auto& row : dependencies_) row.id = ++id, put(out, row);
    id = 0;
    for (auto& row : collectives_) row.id = ++id, put(out, row);
    for (const auto& row : steps_) put(out, row);
    for (const auto& row : losses_) put(out, row);
    id = 0;
    for (const Sample& s : samples_)
      put(out, schema::SystemSampleRow{++id, s.at_ns, out.intern("thread.run_queue_ns"), s.os_tid,
                                       s.waited_ns});
    for (const auto& [stream, number] : cuda_streams_)
      EXPECT_TRUE(out.set_stream({stream, 0, number, {}}).ok());
    EXPECT_TRUE(out.finish().ok());
    return {.path = path, .rank = 0, .host = "host"};
  }

  RankDigest digest() {
    const test_support::TemporaryFolder folder;
    Result<RankDigest> digest = digest_rank(write(folder.path() / "rank-00000.dprof"));
    EXPECT_TRUE(digest.ok());
    return *std::move(digest);
  }

  // Totals over [begin, end), from rows all the way to sums.
  Sums sums(int64_t begin, int64_t end, const std::vector<CommSpan>& comm = {}) {
    const RankDigest rank = digest();
    const Lattice pieces = lattice_of(rank, comm);
    const std::vector<Interval> windows = {{{begin * unit_}, {end * unit_}}};
    return sum_over(pieces, windows).front();
  }

 private:
  struct Named {
    schema::HostRangeRow row;
    std::string name;
  };
  struct NamedActivity {
    schema::GpuActivityRow row;
    std::string name;
  };
  struct Sample {
    int64_t os_tid;
    int64_t at_ns;
    int64_t waited_ns;
  };

  template <typename Row>
  static void put(schema::TraceWriter& out, const Row& row) {
    EXPECT_TRUE(out.append(row).ok());
  }

  const int64_t unit_;
  int64_t correlation_ = 0;
  std::vector<Named> ranges_;
  std::vector<NamedActivity> activities_;
  std::vector<schema::GpuDependencyRow> dependencies_;
  std::vector<schema::CollectiveRow> collectives_;
  std::vector<schema::StepRow> steps_;
  std::vector<schema::LossRow> losses_;
  std::vector<Sample> samples_;
  std::map<int64_t, int64_t> cuda_streams_;
  std::map<std::string, std::string> meta_;
};

}  // namespace dprof::analyzer
