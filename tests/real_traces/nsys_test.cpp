// SPDX-License-Identifier: Apache-2.0
// Nsight Systems' exports against plain SQL on the originals:
//   nsys_sqlite   GindaChen/nsys-ai ab196ea, MIT: one second of two processes on 2 x H100 (schema
//                 3.25.0, two thirds of its kernels launched before), and a small program (3.24.14)
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <set>

#include "schema/database.h"
#include "tests/real_traces/real_traces.h"

namespace dprof::real_traces {
namespace {

namespace fs = std::filesystem;
using schema::GpuActivityKind;
using schema::RangeCategory;

// Name to (rows, ns).
using Sums = std::map<std::string, std::pair<int64_t, int64_t>>;

class Original {
 public:
  explicit Original(const fs::path& packed) {
    gzFile input = gzopen(packed.c_str(), "rb");
    std::ofstream output(folder_.path() / "a.sqlite", std::ios::binary);
    std::string block(1 << 20, '\0');
    for (int got = 0; (got = gzread(input, block.data(), static_cast<unsigned>(block.size()))) > 0;)
      output.write(block.data(), got);
    gzclose(input);
    output.close();
    Result<schema::Database> database =
        schema::Database::open(folder_.path() / "a.sqlite", schema::Database::Mode::kReadOnly);
    EXPECT_TRUE(database.ok());
    database_.emplace(*std::move(database));
  }

  [[nodiscard]] bool has(const std::string& table) const {
    return *database_->query_int("SELECT count(*) FROM sqlite_master WHERE name = '" + table +
                                 "'") > 0;
  }
  [[nodiscard]] int64_t number(const std::string& sql) const { return *database_->query_int(sql); }
  // Of a query of names, rows and ns.
  [[nodiscard]] Sums sums(const std::string& sql) const {
    Sums sums;
    Result<schema::Statement> rows = database_->prepare(sql);
    EXPECT_TRUE(rows.ok()) << rows.error().what;
    while (*rows->step()) sums[std::string(rows->text(0))] = {rows->integer(1), rows->integer(2)};
    return sums;
  }
  [[nodiscard]] std::set<int64_t> processes() const {
    std::set<int64_t> all;
    std::string sql = "SELECT globalPid FROM CUPTI_ACTIVITY_KIND_KERNEL";
    if (has("NVTX_EVENTS")) sql += " UNION SELECT globalTid & ~16777215 FROM NVTX_EVENTS";
    sql += " UNION SELECT globalTid & ~16777215 FROM CUPTI_ACTIVITY_KIND_RUNTIME";
    Result<schema::Statement> rows = database_->prepare(sql);
    while (*rows->step()) all.insert(rows->integer(0));
    return all;
  }

 private:
  test_support::TemporaryFolder folder_;
  std::optional<schema::Database> database_;
};

Sums kernels_of(const schema::TraceReader& trace) {
  Sums sums;
  for (const NamedActivity& row : activities_of(trace)) {
    if (row.row.kind != GpuActivityKind::kKernel) continue;
    ++sums[row.name].first;
    sums[row.name].second += row.row.duration_ns.value_or(0);
  }
  return sums;
}

Sums ranges_named(const schema::TraceReader& trace, RangeCategory category) {
  Sums sums;
  for (const NamedRange& row : ranges_of(trace)) {
    if (row.row.category != category) continue;
    ++sums[row.name].first;
    sums[row.name].second += row.row.duration_ns.value_or(0);
  }
  return sums;
}

int64_t launch_pairs(const schema::TraceReader& trace) {
  std::multiset<int64_t> calls;
  for (const NamedRange& row : ranges_of(trace)) {
    if (row.row.category == RangeCategory::kApi && row.row.correlation)
      calls.insert(*row.row.correlation);
  }
  int64_t pairs = 0;
  for (const NamedActivity& row : activities_of(trace)) {
    if (row.row.kind == GpuActivityKind::kKernel)
      pairs += static_cast<int64_t>(calls.count(row.row.correlation.value_or(-1)));
  }
  return pairs;
}

void compare(const Original& original, int64_t process, const schema::TraceReader& trace) {
  const std::string of_pid = fmt::format("globalPid = {}", process);
  const std::string of_tid = fmt::format("(globalTid & ~16777215) = {}", process);
  EXPECT_EQ(
      kernels_of(trace),
      original.sums("SELECT value, count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL "
                    "JOIN StringIds ON id = demangledName WHERE " +
                    of_pid + " GROUP BY value"));
  EXPECT_EQ(ranges_named(trace, RangeCategory::kApi),
            original.sums("SELECT CASE instr(value, '_v') WHEN 0 THEN value "
                          "ELSE substr(value, 1, instr(value, '_v') - 1) END, count(*), "
                          "sum(end - start) FROM CUPTI_ACTIVITY_KIND_RUNTIME "
                          "JOIN StringIds ON id = nameId WHERE " +
                          of_tid + " GROUP BY 1"));
  if (original.has("NVTX_EVENTS")) {
    EXPECT_EQ(
        ranges_named(trace, RangeCategory::kNvtx),
        original.sums("SELECT coalesce(text, (SELECT value FROM StringIds WHERE id = textId)) "
                      "AS t, count(*), sum(end - start) FROM NVTX_EVENTS "
                      "WHERE eventType = 59 AND " +
                      of_tid + " GROUP BY t"));
  }
  EXPECT_EQ(launch_pairs(trace),
            original.number("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k "
                            "JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = "
                            "k.correlationId AND (r.globalTid & ~16777215) = k.globalPid WHERE " +
                            of_pid));
  int64_t copies = 0;
  int64_t bytes = 0;
  int64_t syncs = 0;
  for (const NamedActivity& row : activities_of(trace)) {
    const bool copy = row.row.kind == GpuActivityKind::kMemcpyH2d ||
                      row.row.kind == GpuActivityKind::kMemcpyD2h ||
                      row.row.kind == GpuActivityKind::kMemcpyD2d;
    copies += copy ? 1 : 0;
    bytes += copy ? row.row.bytes.value_or(0) : 0;
    syncs += row.row.kind == GpuActivityKind::kSync ? 1 : 0;
  }
  EXPECT_EQ(copies,
            original.number("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE " + of_pid));
  EXPECT_EQ(bytes,
            original.number("SELECT sum(bytes) FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE " + of_pid));
  EXPECT_EQ(
      syncs + *trace.count("gpu_dependency"),
      original.number("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION WHERE " + of_pid));
}

void compare_file(const std::string& name) {
  const Imported& imported = imported_once({"nsys_sqlite/" + name});
  DPROF_SKIP_IF_ABSENT(imported);
  EXPECT_FALSE(imported.summary().damaged);
  const Original original(shared_traces() / "nsys_sqlite" / name);
  const std::vector<int>& ranks = imported.summary().files.at(0).ranks;
  ASSERT_EQ(ranks.size(), original.processes().size());
  for (const int rank : ranks) {
    const schema::TraceReader trace = imported.trace(rank);
    SCOPED_TRACE(rank);
    for (const int64_t process : original.processes()) {
      if ((process >> 24 & 0xFFFFFF) == trace.meta_int("pid")) compare(original, process, trace);
    }
  }
}

TEST(NsysTest, TwoProcessesOnH100) { compare_file("h100_2gpu_1s.sqlite.gz"); }
TEST(NsysTest, ASmallProgram) { compare_file("mock.sqlite.gz"); }

}  // namespace
}  // namespace dprof::real_traces
