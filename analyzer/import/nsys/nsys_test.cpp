// SPDX-License-Identifier: Apache-2.0
// Synthetic exports with the oddities of real ones (each pitfall in docs/import.md).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "analyzer/import/import.h"
#include "schema/database.h"
#include "schema/trace_reader.h"
#include "tests/support/temporary_folder.h"

namespace dprof::analyzer {
namespace {

namespace fs = std::filesystem;
using schema::CollectiveRow;
using schema::Function;
using schema::GpuActivityKind;
using schema::GpuActivityRow;
using schema::GpuDependencyRow;
using schema::HostRangeRow;
using schema::RangeCategory;
using schema::TraceReader;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr int64_t kMachine = int64_t{1} << 48;
constexpr int64_t kEpoch = 1'779'630'014'975'716'426;

int64_t process(int64_t pid) { return kMachine | pid << 24; }
int64_t thread(int64_t pid, int64_t tid) { return process(pid) | tid; }

// Schema 3.24, with the columns that are read and some others.
constexpr std::string_view kTables = R"(
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
CREATE TABLE META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT);
CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, nameEnum INTEGER, value TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT);
CREATE TABLE ANALYSIS_DETAILS (duration INTEGER, startTime INTEGER, stopTime INTEGER);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER, uuid TEXT, computeMajor INTEGER,
  computeMinor INTEGER);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER, uuid TEXT);
CREATE TABLE TARGET_INFO_CUDA_CONTEXT_INFO (nullStreamId INTEGER, processId INTEGER, deviceId INTEGER,
  contextId INTEGER);
CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);
CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, source INTEGER, severity INTEGER, text TEXT, globalPid INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER,
  registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER,
  blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, graphNodeId INTEGER, graphId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER,
  dstKind INTEGER, graphNodeId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER, memKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, deprecatedSyncType INTEGER, syncType INTEGER,
  eventId INTEGER, eventSyncId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (timestamp INTEGER, deviceId INTEGER, contextId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, eventId INTEGER, eventSyncId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, rangeId INTEGER, category INTEGER,
  color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER,
  uint64Value INTEGER, int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER,
  floatValue REAL, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT);
CREATE TABLE PROFILER_OVERHEAD (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER, overheadType INTEGER);
CREATE TABLE OSRT_API (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_NAME', 'NVIDIA Nsight Systems'),
  ('EXPORT_PRODUCT_VERSION', '2026.1.1'), ('EXPORT_SCHEMA_VERSION', '3.24.14');
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1779630014975716426, '2026-05-24');
INSERT INTO ANALYSIS_DETAILS VALUES (1000000, 5, 1000005);
INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('Hostname', 619, 'node7'), ('DeviceEnvironment', 610, 'HF_TOKEN=hush1');
INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:COMMAND', 'python'), ('PROCESS_0:ARGUMENT_0', '--key=hush2'),
  ('PROCESS_0:ENVIRONMENT_VARIABLE', 'WANDB_API_KEY=hush3');
INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'void gemm<(int)128>(float *)'), (3, 'gemm'),
  (4, 'cudaStreamSynchronize_v3020'), (5, 'cudaEventQuery_v3020'), (6, 'cudaStreamWaitEvent_v3020'),
  (7, 'cudaEventRecord_v3020'), (8, 'ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)'),
  (9, 'ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)'),
  (20, 'ncclSend'), (21, 'ncclRecv'), (22, 'ncclGroupStart'), (23, 'ncclGroupEnd'), (24, 'ncclAllReduce'),
  (25, 'ncclReduceScatter'), (26, 'ncclCommInitRank'), (30, 'registered'), (31, 'worker');
)";

class NsysTest : public ::testing::Test {
 protected:
  NsysTest() { make("a.sqlite"); }

  // Begins another file.
  void make(const std::string& name) {
    name_ = name;
    Result<schema::Database> database =
        schema::Database::open(file(), schema::Database::Mode::kCreate);
    ASSERT_TRUE(database.ok());
    database_.emplace(*std::move(database));
    sql("PRAGMA journal_mode = OFF");
    sql("PRAGMA synchronous = OFF");
    sql(std::string(kTables));
  }
  [[nodiscard]] fs::path file() const { return folder_.path() / name_; }
  [[nodiscard]] fs::path run() const { return folder_.path() / "run"; }

  void sql(const std::string& text) {
    const Status done = database_->execute(text);
    ASSERT_TRUE(done.ok()) << done.error().what << "\n" << text;
  }

  // A kernel with its launch, on stream 7 of its device.
  void launch(int64_t pid, int64_t correlation, int64_t call, int64_t start, int64_t end,
              int64_t device = 0, int64_t name = 2) {
    api(pid, correlation, call, call + 5, 1);
    sql(fmt::format(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({}, {}, {}, 1, 7, {}, {}, {}, 3, "
        "16, 4, 2, 1, 128, 1, 1, 32, 64, NULL, NULL)",
        start, end, device, correlation, process(pid), name));
  }
  void api(int64_t pid, int64_t correlation, int64_t start, int64_t end, int64_t name,
           int64_t returned = 0) {
    sql(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({}, {}, 0, {}, {}, {}, {})",
                    start, end, thread(pid, pid), correlation, name, returned));
  }
  // `more`: further columns and their values, like ", color" and ", 7".
  void nvtx(int64_t pid, int type, int64_t start, const std::string& end, const std::string& text,
            const std::string& columns = "", const std::string& values = "") {
    sql(
        fmt::format("INSERT INTO NVTX_EVENTS (eventType, start, end, text, globalTid{}) "
                    "VALUES ({}, {}, {}, {}, {}{})",
                    columns, type, start, end, text, thread(pid, pid), values));
  }
  void sync(int64_t start, int64_t correlation, const std::string& old_type, int64_t type,
            int64_t stream = 7, int64_t event = 4294967295, int64_t sync_id = 4294967295) {
    sql(fmt::format(
        "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES ({}, {}, 0, 1, {}, {}, "
        "{}, {}, {}, {}, {})",
        start, start + 3, stream, correlation, process(10), old_type, type, event, sync_id));
  }

  ImportSummary import(const ImportOptions& options = {.overwrite = true}) {
    return import({file()}, options);
  }
  ImportSummary import(const std::vector<fs::path>& files,
                       const ImportOptions& options = {.overwrite = true}) {
    database_.reset();
    Result<ImportSummary> summary = import_files(files, run(), options);
    EXPECT_TRUE(summary.ok()) << summary.error().what;
    return summary.ok() ? *std::move(summary) : ImportSummary{};
  }

  TraceReader trace(int rank = 0) {
    Result<TraceReader> reader = TraceReader::open(run() / fmt::format("rank-{:05}.dprof", rank));
    EXPECT_TRUE(reader.ok());
    return *std::move(reader);
  }
  template <typename Row>
  std::vector<Row> rows(int rank = 0) {
    return *trace(rank).read_all<Row>();
  }

  // Name, start and duration (-1 = open) of all ranges of a category.
  using Ranges = std::vector<std::tuple<std::string, int64_t, int64_t>>;
  Ranges ranges(RangeCategory category, int rank = 0) {
    Ranges all;
    const TraceReader reader = trace(rank);
    for (const HostRangeRow& row : rows<HostRangeRow>(rank)) {
      if (row.category == category)
        all.emplace_back(reader.string(row.name_id), row.start_ns, row.duration_ns.value_or(-1));
    }
    return all;
  }

  std::map<std::string, int64_t> remarks(int rank = 0) {
    std::map<std::string, int64_t> all;
    for (const schema::DiagnosticRow& row : rows<schema::DiagnosticRow>(rank))
      all[row.code] += row.count;
    return all;
  }
  std::string remark(std::string_view code, int rank = 0) {
    std::string text;
    const TraceReader reader = trace(rank);
    for (const schema::DiagnosticRow& row : rows<schema::DiagnosticRow>(rank)) {
      if (row.code == code) text += reader.string(row.text_id) + "\n";
    }
    return text;
  }
  int64_t lost(int rank = 0) {
    int64_t count = 0;
    for (const schema::LossRow& row : rows<schema::LossRow>(rank)) count += row.count;
    return count;
  }

  test_support::TemporaryFolder folder_;
  std::string name_;
  std::optional<schema::Database> database_;
};

// --- processes and correlations ---

TEST_F(NsysTest, CorrelationsOfTwoProcessesDoNotMix) {
  for (const int64_t pid : {10, 11}) {
    for (int64_t i = 1; i <= 4; ++i)
      launch(pid, i, 100 * i + pid, 1000 * i, 1000 * i + 10 * pid, pid - 10);
  }
  launch(11, 9, 900, 9000, 9100, 1);
  const ImportSummary summary = import();
  EXPECT_THAT(summary.files.at(0).ranks, ElementsAre(0, 1));
  EXPECT_FALSE(summary.damaged);
  for (const int rank : {0, 1}) {
    const size_t kernels = rank == 0 ? 4 : 5;
    const TraceReader reader = trace(rank);
    EXPECT_EQ(reader.meta("pid"), std::to_string(10 + rank));
    ASSERT_THAT(rows<GpuActivityRow>(rank), SizeIs(kernels));
    std::map<int64_t, int64_t> calls;
    for (const HostRangeRow& row : rows<HostRangeRow>(rank)) ++calls[row.correlation.value_or(0)];
    for (const GpuActivityRow& row : rows<GpuActivityRow>(rank)) {
      EXPECT_EQ(row.device_id, rank);
      EXPECT_EQ(calls[row.correlation.value_or(-1)], 1);
      EXPECT_EQ(reader.string(row.name_id), "void gemm<(int)128>(float *)");
    }
  }
  EXPECT_EQ(rows<GpuActivityRow>(1)[0].duration_ns, 110);
  EXPECT_THAT(ranges(RangeCategory::kApi)[0], (std::tuple("cudaLaunchKernel", 0, 5)));
}

TEST_F(NsysTest, KernelsKeepTheirShapeAndACorrelationWithoutLaunch) {
  launch(10, 3, 100, 200, 260);
  sql("DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME");
  import();
  const auto gpu = rows<GpuActivityRow>();
  ASSERT_THAT(gpu, SizeIs(1));
  EXPECT_EQ(gpu[0].correlation, 3);
  const auto shapes = rows<schema::KernelShapeRow>();
  ASSERT_THAT(shapes, SizeIs(1));
  EXPECT_EQ(shapes[0], (schema::KernelShapeRow{.activity_id = 1,
                                               .grid_x = 4,
                                               .grid_y = 2,
                                               .grid_z = 1,
                                               .block_x = 128,
                                               .block_y = 1,
                                               .block_z = 1,
                                               .registers = 16,
                                               .static_shared_bytes = 32,
                                               .dynamic_shared_bytes = 64}));
}

TEST_F(NsysTest, OneProcessMayHaveTwoDevicesAndContextsWithEqualStreams) {
  launch(10, 1, 10, 100, 200, 1);
  launch(10, 2, 20, 150, 250, 0);
  sql("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET contextId = 5 WHERE deviceId = 1");
  sql(fmt::format(
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT start, end, 0, 9, streamId, 4, {}, "
      "demangledName, shortName, 1, 1, 1, 1, 1, 1, 1, 0, 0, 6, 8 "
      "FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE deviceId = 0",
      process(10)));
  sql("INSERT INTO TARGET_INFO_GPU VALUES (3, 'H100', 80000000000, 'aa-bb', 9, 0), (4, 'H200', 1, 'c', 9, 0)");
  sql("INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (3, 1, 10, NULL), (4, 1, 11, NULL), (4, 0, 10, 'GPU-x')");
  sql("INSERT INTO TARGET_INFO_CUDA_CONTEXT_INFO VALUES (7, 10, 0, 1)");
  import();
  EXPECT_THAT(rows<schema::StreamRow>(), SizeIs(3));
  const auto devices = rows<schema::DeviceRow>();
  ASSERT_THAT(devices, SizeIs(2));
  EXPECT_EQ(devices[0].uuid, "GPU-x");
  EXPECT_EQ(devices[1].uuid, "GPU-aa-bb");
  EXPECT_EQ(trace().string(devices[1].name_id.value_or(0)), "H100");
  EXPECT_EQ(devices[1].memory_bytes, 80'000'000'000);
  EXPECT_EQ(devices[1].compute_capability, 900);
  int64_t named = 0;
  for (const schema::StreamRow& row : rows<schema::StreamRow>()) {
    if (!row.name_id) continue;
    ++named;
    EXPECT_EQ(trace().string(*row.name_id), "default stream");
    EXPECT_EQ(row.device_id, 0);
  }
  EXPECT_EQ(named, 1);
  EXPECT_EQ(rows<GpuActivityRow>().back().graph, 8);
  EXPECT_EQ(remarks().count("import_overlaps"), 0U);
}

// --- times ---

TEST_F(NsysTest, ShiftedExportsGiveTheSameTrace) {
  launch(10, 1, 100, 200, 260);
  nvtx(10, 59, 90, "1000000", "'open'");
  nvtx(10, 59, 95, "300", "'closed'");
  import();
  const auto plain = rows<HostRangeRow>();
  const auto plain_gpu = rows<GpuActivityRow>();
  EXPECT_EQ(trace().meta_int("origin_realtime_ns"), kEpoch + 90);
  EXPECT_THAT(ranges(RangeCategory::kNvtx),
              ElementsAre(std::tuple("open", 0, -1), std::tuple("closed", 5, 205)));
  const auto shift = [&](int64_t by) {
    Result<schema::Database> again =
        schema::Database::open(file(), schema::Database::Mode::kReadWrite);
    database_.emplace(*std::move(again));
    for (const char* table :
         {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"})
      sql(fmt::format("UPDATE {} SET start = start + {}, end = end + {}", table, by, by));
  };
  shift(kEpoch);
  sql("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PARAM_TIME_NORMALIZE', 'true')");
  import();
  EXPECT_EQ(rows<HostRangeRow>(), plain);
  EXPECT_EQ(rows<GpuActivityRow>(), plain_gpu);
  EXPECT_EQ(trace().meta_int("origin_realtime_ns"), kEpoch + 90);
  shift(-5000);
  sql(fmt::format("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_CONFIG_TIME_SHIFT', '{}')",
                  kEpoch - 5000));
  import();
  EXPECT_EQ(rows<HostRangeRow>(), plain);
  EXPECT_EQ(trace().meta_int("origin_realtime_ns"), kEpoch + 90);
}

TEST_F(NsysTest, RowsWithoutUsableTimesAreCounted) {
  launch(10, 1, 100, 200, 260);
  launch(10, 2, 110, 300, 0);                 // unknown to CUPTI
  launch(10, 3, 120, 500, 400);               // before its start
  launch(10, 4, 130, 500, int64_t{1} << 62);  // not a time
  nvtx(10, 59, 140, "100", "'backwards'");
  nvtx(10, 35, 150, "NULL", "'half a range'");
  import();
  EXPECT_THAT(rows<GpuActivityRow>(), SizeIs(1));
  EXPECT_EQ(lost(), 5);
  EXPECT_THAT(remark("import_skipped"), HasSubstr("4 rows without an end"));
  EXPECT_THAT(remark("import_skipped"), HasSubstr("1 NVTX events that are neither"));
}

TEST_F(NsysTest, OrderOfRowsDoesNotMatter) {
  for (int64_t i = 1; i <= 20; ++i) launch(10, i, 100 * i, 100 * i + 50, 100 * i + 90);
  import();
  const auto ordered = rows<GpuActivityRow>();
  const auto ordered_calls = rows<HostRangeRow>();
  make("b.sqlite");
  for (int64_t i = 1; i <= 20; ++i) {
    const int64_t mixed = i * 8 % 21;  // each of them once
    launch(10, mixed, 100 * mixed, 100 * mixed + 50, 100 * mixed + 90);
  }
  import();
  EXPECT_EQ(rows<GpuActivityRow>(), ordered);
  EXPECT_EQ(rows<HostRangeRow>(), ordered_calls);
}

// --- NVTX ---

TEST_F(NsysTest, NvtxKindsTextsAndDetails) {
  nvtx(10, 75, 1, "NULL", "'lib'", ", domainId", ", 3");
  nvtx(10, 59, 10, "90", "'plain'", ", domainId, color, category", ", 0, 0, 0");
  nvtx(10, 59, 20, "80", "NULL", ", textId, domainId, color, category, uint64Value",
       ", 30, 3, 4294901760, 5, -1");
  nvtx(10, 60, 25, "95", "'across'", ", endGlobalTid, doubleValue",
       fmt::format(", {}, 0.5", thread(10, 12)));
  nvtx(10, 34, 30, "NULL", "NULL", ", int32Value", ", -7");
  nvtx(10, 33, 0, "NULL", "'a category'");
  nvtx(10, 39, 0, "NULL", "'trainer'");
  import();
  EXPECT_THAT(ranges(RangeCategory::kNvtx),
              ElementsAre(std::tuple("plain", 0, 80), std::tuple("registered", 10, 60)));
  EXPECT_THAT(ranges(RangeCategory::kNvtxProcess), ElementsAre(std::tuple("across", 15, 70)));
  EXPECT_THAT(ranges(RangeCategory::kNvtxMark), ElementsAre(std::tuple("", 20, 0)));
  EXPECT_EQ(lost(), 0);
  const auto threads = rows<schema::ThreadRow>();
  ASSERT_THAT(threads, SizeIs(1));
  EXPECT_EQ(threads[0].os_tid, 10);
  EXPECT_EQ(threads[0].role, schema::ThreadRole::kMain);
  EXPECT_EQ(trace().string(threads[0].name_id.value_or(0)), "trainer");
  const auto details = rows<schema::RangeDetailRow>();
  ASSERT_THAT(details, SizeIs(3));
  EXPECT_EQ(details[0].range_id, 2);
  EXPECT_EQ(trace().string(details[0].domain_id.value_or(0)), "lib");
  EXPECT_EQ(details[0].color, 0xFFFF0000);
  EXPECT_EQ(details[0].nvtx_category, 5);
  EXPECT_EQ(details[0].payload_kind, schema::PayloadKind::kUint64);
  EXPECT_EQ(details[0].payload, std::string(8, '\xff'));
  EXPECT_EQ(details[1].payload_kind, schema::PayloadKind::kDouble);
  double half = 0;
  ASSERT_EQ(details[1].payload.value_or("").size(), sizeof half);
  std::memcpy(&half, details[1].payload->data(), sizeof half);
  EXPECT_EQ(half, 0.5);
  EXPECT_EQ(details[2].range_id, 4);
  EXPECT_EQ(details[2].payload, std::string("\xf9\xff\xff\xff"));
}

TEST_F(NsysTest, StepsAreFoundByTheirTexts) {
  for (int64_t i = 0; i < 3; ++i) {
    nvtx(10, 59, 100 * i, std::to_string(100 * i + 90), fmt::format("'step {}'", i + 5));
    nvtx(10, 59, 100 * i + 1, std::to_string(100 * i + 80), fmt::format("'iteration {}'", i));
  }
  import();
  const auto steps = rows<schema::StepRow>();
  ASSERT_THAT(steps, SizeIs(3));
  EXPECT_EQ(steps[0].step_index, 5);
  EXPECT_EQ(steps[2].end_ns, 290);
  EXPECT_THAT(ranges(RangeCategory::kNvtx), SizeIs(6));
}

// --- copies, memsets, synchronisations ---

TEST_F(NsysTest, CopiesAreNamedAndSortedByKind) {
  const auto copy = [&](int64_t start, int kind, const std::string& from, const std::string& to) {
    sql(fmt::format(
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES ({}, {}, 0, 1, 7, 1, {}, 64, {}, "
        "{}, {}, NULL)",
        start, start + 5, process(10), kind, from, to));
  };
  copy(10, 1, "0", "2");
  copy(20, 2, "2", "1");
  copy(30, 10, "2", "2");
  copy(40, 0, "1", "2");
  copy(50, 9, "0", "0");
  copy(60, 12, "NULL", "NULL");
  sql(fmt::format(
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (70, 75, 0, 1, 7, 2, {}, 0, 99, 2)",
      process(10)));
  import();
  std::vector<std::pair<std::string, GpuActivityKind>> got;
  const TraceReader reader = trace();
  for (const GpuActivityRow& row : rows<GpuActivityRow>())
    got.emplace_back(reader.string(row.name_id), row.kind);
  EXPECT_THAT(got,
              ElementsAre(Pair("Memcpy HtoD (Pageable -> Device)", GpuActivityKind::kMemcpyH2d),
                          Pair("Memcpy DtoH (Device -> Pinned)", GpuActivityKind::kMemcpyD2h),
                          Pair("Memcpy PtoP (Device -> Device)", GpuActivityKind::kMemcpyD2d),
                          Pair("Memcpy Unknown (Pinned -> Device)", GpuActivityKind::kMemcpyH2d),
                          Pair("Memcpy DtoH", GpuActivityKind::kMemcpyD2h),
                          Pair("Memset (Device)", GpuActivityKind::kMemset)));
  EXPECT_EQ(lost(), 1);
  EXPECT_THAT(remark("import_skipped"), HasSubstr("copies from host to host"));
}

TEST_F(NsysTest, NewTypesOfSynchronisation) {
  api(10, 1, 10, 13, 4);
  api(10, 2, 20, 23, 5);
  api(10, 3, 30, 33, 6);
  api(10, 4, 5, 6, 7);
  sync(10, 1, "NULL", 3);
  sync(20, 2, "NULL", 1, 4294967295, 77, 501);  // a poll
  sync(31, 3, "NULL", 2, 20, 77, 500);
  sync(40, 9, "NULL", 1, 4294967295, 78);  // its call is not in the file
  sync(50, 0, "NULL", 4, 4294967295);
  sql(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0, 0, 1, 7, 4, {}, 77, 500)",
                  process(10)));
  import();
  const auto gpu = rows<GpuActivityRow>();
  ASSERT_THAT(gpu, SizeIs(2));
  EXPECT_EQ(trace().string(gpu[0].name_id), "Stream Sync");
  EXPECT_EQ(trace().string(gpu[1].name_id), "Context Sync");
  EXPECT_EQ(gpu[1].kind, GpuActivityKind::kSync);
  const auto streams = rows<schema::StreamRow>();
  EXPECT_EQ(streams[static_cast<size_t>(gpu[1].stream_id)].cuda_stream, -1);
  const auto waits = rows<GpuDependencyRow>();
  ASSERT_THAT(waits, SizeIs(2));
  EXPECT_EQ(waits[0].event, 77);
  EXPECT_EQ(waits[0].wait_ns, 25);  // from the call's begin; 5 is the trace's begin
  EXPECT_EQ(waits[0].record_ns, 0);
  ASSERT_TRUE(waits[0].record_stream_id && waits[0].wait_stream_id);
  EXPECT_EQ(streams[static_cast<size_t>(*waits[0].record_stream_id)].cuda_stream, 7);
  EXPECT_EQ(streams[static_cast<size_t>(*waits[0].wait_stream_id)].cuda_stream, 20);
  EXPECT_EQ(waits[1].wait_stream_id, std::nullopt);
  EXPECT_EQ(lost(), 1);
  EXPECT_THAT(remark("import_repeats"), HasSubstr("poll"));
}

TEST_F(NsysTest, OldTypesOfSynchronisation) {
  sync(10, 1, "0", 0);
  sync(20, 2, "1", 0, 7, 5);
  sync(30, 3, "2", 0);
  import();
  std::vector<std::string> names;
  const TraceReader reader = trace();
  for (const GpuActivityRow& row : rows<GpuActivityRow>())
    names.push_back(reader.string(row.name_id));
  EXPECT_THAT(names, ElementsAre("Context Sync", "Stream Sync"));
  EXPECT_THAT(rows<GpuDependencyRow>(), SizeIs(1));
}

TEST_F(NsysTest, TheFilesOwnNamesOfTypesCount) {
  sql("CREATE TABLE ENUM_CUPTI_SYNC_TYPE (id INTEGER PRIMARY KEY, name TEXT, label TEXT)");
  sql("INSERT INTO ENUM_CUPTI_SYNC_TYPE VALUES (1, 'STREAM_SYNCHRONIZE', ''), (2, 'CONTEXT_SYNCHRONIZE', '')");
  sync(10, 1, "NULL", 1);
  sync(20, 2, "NULL", 2);
  import();
  EXPECT_THAT(rows<GpuDependencyRow>(), IsEmpty());
  EXPECT_THAT(rows<GpuActivityRow>(), SizeIs(2));
}

TEST_F(NsysTest, WholeGraphsAndMemory) {
  launch(10, 1, 100, 200, 260);
  sql("CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, end, deviceId, contextId, streamId, correlationId, "
      "globalPid, graphId, graphExecId)");
  sql("CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start, globalPid, deviceId, address, bytes, memKind, "
      "memoryOperationType)");
  sql(fmt::format(
      "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (300, 400, 0, 1, 7, 5, {}, 12, 13)",
      process(10)));
  sql(
      fmt::format("INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (110, {0}, 0, 4096, 512, 2, 0), "
                  "(120, {0}, 0, 4096, 512, 2, 1), (130, {1}, 0, 1, 2, 2, 0)",
                  process(10), process(99)));
  import();
  const auto gpu = rows<GpuActivityRow>();
  ASSERT_THAT(gpu, SizeIs(2));
  EXPECT_EQ(gpu[1].kind, GpuActivityKind::kGraph);
  EXPECT_EQ(gpu[1].graph, 12);
  EXPECT_EQ(remarks()["import_whole_graphs"], 1);
  const auto memory = rows<schema::MemoryEventRow>();
  ASSERT_THAT(memory, SizeIs(2));
  EXPECT_EQ(memory[0].kind, schema::MemoryEventKind::kSegmentAlloc);
  EXPECT_EQ(memory[1].kind, schema::MemoryEventKind::kSegmentFree);
  EXPECT_EQ(memory[1].time_ns, 20);
  EXPECT_THAT(remark("import_skipped"), HasSubstr("1 rows of processes without CUDA or NVTX"));
}

// --- NCCL ---

// Domain 1 is NCCL's.
class NsysNcclTest : public NsysTest {
 protected:
  NsysNcclTest() { nvtx(10, 75, 0, "NULL", "'NCCL'", ", domainId", ", 1"); }

  void call(int64_t start, int64_t end, int64_t name, const std::string& blob = "NULL") {
    nvtx(10, 59, start, std::to_string(end), "NULL", ", domainId, textId, binaryData",
         fmt::format(", 1, {}, {}", name, blob));
  }
  void schema(int64_t id, const std::string& fields) {
    sql("CREATE TABLE IF NOT EXISTS NVTX_PAYLOAD_SCHEMAS (domainId, schemaId, name, payloadSize)");
    sql("CREATE TABLE IF NOT EXISTS NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId, schemaId, idx, flags, type, name, "
        "arrayOrUnionDetail, offset)");
    sql(fmt::format("INSERT INTO NVTX_PAYLOAD_SCHEMAS VALUES (1, {}, NULL, 24)", id));
    sql(fmt::format(
        "INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId, schemaId, idx, type, name, offset) VALUES {}",
        fmt::format(fmt::runtime(fields), id)));
  }
  // Header and eight-byte numbers, as hexadecimal text or as a blob.
  static std::string blob(uint64_t schema, std::vector<uint64_t> words, bool as_text = true) {
    std::vector<uint64_t> all = {1, schema, words.size() * 8, 32};
    all.insert(all.end(), words.begin(), words.end());
    std::string hex;
    for (const uint64_t word : all) {
      for (int byte = 0; byte < 8; ++byte) hex += fmt::format("{:02x}", word >> 8 * byte & 0xFF);
    }
    return (as_text ? "'" : "x'") + hex + "'";
  }
};

TEST_F(NsysNcclTest, GroupedCallsTakeTheKernelOfTheirGroupsEnd) {
  call(100, 101, 22);  // group start
  call(110, 115, 20);  // send
  call(120, 125, 21);  // receive
  call(130, 180, 23);  // group end: launches
  launch(10, 5, 150, 300, 400, 0, 8);
  call(200, 240, 24);  // a separate all-reduce
  launch(10, 6, 220, 500, 700, 0, 9);
  call(250, 260, 24);                  // one whose kernel is not in the file
  launch(10, 7, 270, 800, 900, 0, 9);  // and a kernel without a call
  import();
  const auto got = rows<CollectiveRow>();
  ASSERT_THAT(got, SizeIs(5));
  const auto of = [&](Function function, size_t nth) {
    for (const CollectiveRow& row : got) {
      if (row.function == function && nth-- == 0) return row;
    }
    return CollectiveRow{};
  };
  for (const Function function : {Function::kSend, Function::kRecv}) {
    EXPECT_EQ(of(function, 0).correlation, 5);
    EXPECT_EQ(of(function, 0).end_ns.value_or(0) - of(function, 0).start_ns.value_or(0), 100);
  }
  EXPECT_EQ(of(Function::kSend, 0).enqueue_ns, 10);
  EXPECT_EQ(of(Function::kAllReduce, 0).correlation, 6);
  EXPECT_EQ(of(Function::kAllReduce, 0).dtype, schema::DataType::kBfloat16);
  EXPECT_EQ(of(Function::kAllReduce, 0).reduction, schema::Reduction::kSum);
  EXPECT_EQ(of(Function::kAllReduce, 1).state, schema::CollectiveState::kUnobserved);
  EXPECT_EQ(of(Function::kAllReduce, 2).correlation, 7);
  EXPECT_EQ(of(Function::kAllReduce, 2).enqueue_ns, 170);
  EXPECT_EQ(remarks()["import_groups_unknown"], 5);
  const auto groups = rows<schema::CommunicatorRow>();
  ASSERT_THAT(groups, SizeIs(1));
  EXPECT_EQ(trace().string(groups[0].name_id.value_or(0)), "unknown group");
}

TEST_F(NsysNcclTest, PayloadsTellCommunicatorRankAndBytes) {
  schema(101,
         "(1, {0}, 0, 18, 'NCCL communicator ID', NULL), (1, {0}, 1, 5, 'No. of ranks', 8), "
         "(1, {0}, 2, 5, 'Rank', 12)");
  schema(102,
         "(1, {0}, 0, 18, 'NCCL communicator ID', 0), (1, {0}, 1, 22, 'Message size [bytes]', 8), "
         "(1, {0}, 2, 16777232, 'Reduction operation', 16)");
  call(10, 20, 26, blob(101, {77, 4 | uint64_t{3} << 32}));
  call(100, 140, 24, blob(102, {77, 1024, 2}, false));
  launch(10, 5, 120, 300, 400, 0, 9);
  call(200, 240, 25, blob(102, {77, 1024, 0}));
  import();
  const auto groups = rows<schema::CommunicatorRow>(3);
  ASSERT_THAT(groups, SizeIs(1));
  EXPECT_EQ(groups[0].hash, 77);
  EXPECT_EQ(groups[0].size, 4);
  EXPECT_EQ(groups[0].own_rank, 3);
  EXPECT_EQ(trace(3).meta_int("rank"), 3);
  EXPECT_EQ(trace(3).meta_int("world_size"), 4);
  const auto got = rows<CollectiveRow>(3);
  ASSERT_THAT(got, SizeIs(2));
  EXPECT_EQ(got[0].bytes, 1024);
  EXPECT_EQ(got[0].count, 512);
  EXPECT_EQ(got[0].reduction, schema::Reduction::kMax);
  EXPECT_EQ(got[1].function, Function::kReduceScatter);
  EXPECT_EQ(got[1].bytes, 4096);
  EXPECT_EQ(remarks(3).count("import_groups_unknown"), 0U);
  EXPECT_THAT(rows<schema::NvtxSchemaRow>(3), SizeIs(6));
  int64_t payloads = 0;
  for (const schema::RangeDetailRow& row : rows<schema::RangeDetailRow>(3))
    payloads += row.payload_kind == schema::PayloadKind::kSchema ? 1 : 0;
  EXPECT_EQ(payloads, 3);
}

TEST_F(NsysNcclTest, RangesOfOtherDomainsAreNoCalls) {
  nvtx(10, 59, 10, "20", "'ncclAllReduce'");
  import();
  EXPECT_THAT(rows<CollectiveRow>(), IsEmpty());
}

// --- ranks, environment ---

TEST_F(NsysTest, TheEnvironmentGivesTheRankOfOneProcessAndNothingElse) {
  launch(10, 1, 100, 200, 260);
  sql("INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENVIRONMENT_VARIABLE', 'RANK=5'), "
      "('PROCESS_0:ENVIRONMENT_VARIABLE', 'WORLD_SIZE=8'), ('PROCESS_0:ENVIRONMENT_VARIABLE', 'SLURM_PROCID=2')");
  import();
  const TraceReader reader = trace(5);
  EXPECT_EQ(reader.meta_int("world_size"), 8);
  EXPECT_EQ(reader.meta("host"), "node7");
  EXPECT_EQ(reader.meta("command"), "python");
  EXPECT_EQ(reader.meta("imported_format"), "nsys");
  EXPECT_EQ(reader.meta("imported_version"), "Nsight Systems 2026.1.1, schema 3.24.14");
  EXPECT_EQ(remarks(5).count("import_no_rank"), 0U);
  for (const auto& entry : fs::directory_iterator(run())) {
    std::ifstream input(entry.path(), std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(input), {});
    for (const char* secret : {"hush", "WANDB", "HF_TOKEN"})
      EXPECT_EQ(bytes.find(secret), std::string::npos) << entry.path() << ": " << secret;
  }
}

TEST_F(NsysTest, TheEnvironmentOfALauncherGivesNoRank) {
  launch(10, 1, 100, 200, 260, 1);
  launch(11, 1, 100, 200, 260, 0);
  sql("INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENVIRONMENT_VARIABLE', 'RANK=5')");
  const ImportSummary summary = import();
  EXPECT_THAT(summary.files[0].ranks, UnorderedElementsAre(0, 1));
  EXPECT_EQ(trace(0).meta("pid"), "11");  // it has device 0
  EXPECT_THAT(remark("import_no_rank", 0), HasSubstr("by the order of its devices"));
  EXPECT_EQ(remarks(0)["import_several_ranks"], 1);
  EXPECT_EQ(trace(0).meta("clock_id"), trace(1).meta("clock_id"));
}

TEST_F(NsysTest, MpiGivesRanks) {
  launch(10, 1, 100, 200, 260, 0);
  launch(11, 1, 100, 200, 260, 1);
  sql("CREATE TABLE MPI_RANKS (globalTid INTEGER, rank INTEGER)");
  sql(fmt::format("INSERT INTO MPI_RANKS VALUES ({}, 9), ({}, 8)", thread(10, 10), thread(11, 12)));
  import();
  EXPECT_EQ(trace(9).meta("pid"), "10");
  EXPECT_EQ(trace(8).meta("pid"), "11");
}

TEST_F(NsysTest, SeveralFilesWithRanksFromTheirNames) {
  std::vector<fs::path> files;
  for (const int rank : {3, 1}) {
    make(fmt::format("report_rank{}.sqlite", rank));
    launch(10, 1, 100, 200, 260);
    sql(fmt::format("UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = utcEpochNs + {}",
                    rank));
    files.push_back(file());
  }
  import(files);
  EXPECT_EQ(trace(3).meta("imported_from"), "report_rank3.sqlite");
  EXPECT_NE(trace(3).meta("clock_id"), trace(1).meta("clock_id"));
}

TEST_F(NsysTest, GivenRanksCount) {
  launch(10, 1, 100, 200, 260, 0);
  launch(11, 1, 100, 200, 260, 1);
  import({.overwrite = true, .ranks = { 7, 6 }});
  EXPECT_EQ(trace(7).meta("pid"), "10");
  EXPECT_EQ(trace(6).meta_int("rank"), 6);
  EXPECT_EQ(remarks(7).count("import_no_rank"), 0U);
  const auto wrong = import_files({file()}, run(), {.overwrite = true, .ranks = {1}});
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, Code::kUsage);
  EXPECT_THAT(wrong.error().what, HasSubstr("1 ranks were given, but the files hold 2"));
}

// --- what is missing, unused or hostile ---

TEST_F(NsysTest, RowsThatAreNotUsedAreCountedByProcess) {
  launch(10, 1, 100, 200, 260);
  for (int64_t i = 0; i < 5; ++i)
    sql(fmt::format("INSERT INTO OSRT_API VALUES ({0}, {0}, {1}, 1)", i,
                    thread(i < 3 ? 10 : 99, 10)));
  sql("CREATE TABLE NEW_IN_2030 (timestamp INTEGER, what TEXT)");
  sql("INSERT INTO NEW_IN_2030 VALUES (1, 'a'), (2, 'b')");
  import();
  const std::string text = remark("import_skipped");
  EXPECT_THAT(text, HasSubstr("3 OS runtime calls"));
  EXPECT_THAT(text, HasSubstr("2 rows of processes without CUDA or NVTX"));
  EXPECT_THAT(text, HasSubstr("2 rows of other tables"));
  EXPECT_EQ(lost(), 7);
}

TEST_F(NsysTest, WarningsOfTheRecorderAreRepeated) {
  launch(10, 1, 100, 200, 260);
  sql(fmt::format(
      "INSERT INTO DIAGNOSTIC_EVENT VALUES (-5, 1, 1, 'hello', NULL), "
      "(1, 1, 2, 'CUDA events might have been lost.', {}), (2, 1, 3, 'odd', -144115188075855872)",
      process(10)));
  api(10, 7, 300, 301, 4, 2);
  api(10, 8, 310, 311, 5, 600);
  import();
  EXPECT_THAT(remark("import_loss"), HasSubstr("might have been lost"));
  EXPECT_THAT(remark("import_warning"), HasSubstr("odd"));
  EXPECT_EQ(remarks()["import_failed_calls"], 1);
}

TEST_F(NsysTest, AFileWithoutCudaSaysSo) {
  sql(fmt::format("INSERT INTO OSRT_API VALUES (1, 2, {}, 1)", thread(10, 10)));
  sql("INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 1, 3, 'CUDA could not be traced.', NULL)");
  const ImportSummary summary = import();
  EXPECT_EQ(remarks()["import_no_cuda"], 1);
  EXPECT_THAT(remark("import_warning"), HasSubstr("could not be traced"));
  EXPECT_THAT(summary.diagnostics, SizeIs(4));  // that, the warning, the row, the rank
  EXPECT_EQ(lost(), 1);
}

TEST_F(NsysTest, EachColumnBeyondTheTimesMayBeMissing) {
  const std::map<std::string, std::vector<std::string>> columns = {
      {"CUPTI_ACTIVITY_KIND_KERNEL",
       {"deviceId", "contextId", "streamId", "correlationId", "globalPid", "demangledName",
        "shortName", "registersPerThread", "gridX", "blockX", "staticSharedMemory", "graphNodeId",
        "graphId"}},
      {"CUPTI_ACTIVITY_KIND_RUNTIME",
       {"eventClass", "globalTid", "correlationId", "nameId", "returnValue"}},
      {"NVTX_EVENTS",
       {"end", "eventType", "category", "color", "text", "globalTid", "textId", "domainId",
        "uint64Value", "doubleValue", "jsonText", "binaryData"}},
      {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
       {"deprecatedSyncType", "syncType", "eventId", "eventSyncId"}}};
  int number = 0;
  for (const auto& [table, names] : columns) {
    for (const std::string& column : names) {
      make(fmt::format("without{}.sqlite", ++number));
      launch(10, 1, 100, 200, 260);
      nvtx(10, 59, 90, "300", "'range'");
      sync(400, 3, "NULL", 3);
      sql(fmt::format("ALTER TABLE {} DROP COLUMN {}", table, column));
      const ImportSummary summary = import();
      ASSERT_THAT(summary.files, SizeIs(1)) << table << "." << column;
      EXPECT_EQ(summary.files[0].rows, 4) << table << "." << column;
      EXPECT_FALSE(summary.damaged) << table << "." << column;
      EXPECT_THAT(summary.files[0].ranks, ElementsAre(0)) << table << "." << column;
    }
  }
}

TEST_F(NsysTest, OldNamesOfTables) {
  launch(10, 1, 100, 200, 260);
  sql("ALTER TABLE META_DATA_EXPORT RENAME TO EXPORT_META_DATA");
  sql("UPDATE EXPORT_META_DATA SET value = '3.0.0' WHERE name = 'EXPORT_SCHEMA_VERSION'");
  sql("DROP TABLE TARGET_INFO_CUDA_CONTEXT_INFO");
  sql("CREATE TABLE TARGET_INFO_CUDA_NULL_STREAM (streamId INTEGER, hwId INTEGER, vmId INTEGER, processId INTEGER, "
      "deviceId INTEGER, contextId INTEGER)");
  sql("INSERT INTO TARGET_INFO_CUDA_NULL_STREAM VALUES (7, 0, 1, 10, 0, 1)");
  for (const char* table :
       {"NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_CUDA_EVENT", "PROFILER_OVERHEAD", "ThreadNames"})
    sql(fmt::format("DROP TABLE {}", table));
  import();
  EXPECT_THAT(trace().meta("imported_version").value_or(""), HasSubstr("schema 3.0.0"));
  EXPECT_TRUE(rows<schema::StreamRow>()[0].name_id.has_value());
}

TEST_F(NsysTest, ViewsAndTriggersAreNotRun) {
  launch(10, 1, 100, 200, 260);
  sql("DROP TABLE NVTX_EVENTS");
  sql("CREATE VIEW NVTX_EVENTS AS SELECT 1 AS start, 2 AS end, 59 AS eventType, 'forged' AS text FROM StringIds");
  sql("CREATE TRIGGER t AFTER INSERT ON StringIds BEGIN DELETE FROM StringIds; END");
  sql("CREATE INDEX odd ON CUPTI_ACTIVITY_KIND_KERNEL (abs(start))");
  import();
  EXPECT_THAT(ranges(RangeCategory::kNvtx), IsEmpty());
  EXPECT_THAT(rows<GpuActivityRow>(), SizeIs(1));
}

TEST_F(NsysTest, LogAndJournalBesideTheFileAreLeftAlone) {
  launch(10, 1, 100, 200, 260);
  database_.reset();
  for (const char* suffix : {"-wal", "-journal", "-shm"})
    std::ofstream(file().string() + suffix) << "none of ours";
  fs::permissions(file(), fs::perms::owner_read);
  import();
  EXPECT_THAT(rows<GpuActivityRow>(), SizeIs(1));
  for (const char* suffix : {"-wal", "-journal", "-shm"}) {
    std::ifstream input(file().string() + suffix);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(input), {}), "none of ours");
  }
}

TEST_F(NsysTest, GzipIsUnpackedAndNothingIsLeftBehind) {
  launch(10, 1, 100, 200, 260);
  database_.reset();
  std::ifstream input(file(), std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(input), {});
  const fs::path packed = folder_.path() / "odd name?#.gz";
  gzFile out = gzopen(packed.c_str(), "wb");
  gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(out);
  import({packed});
  EXPECT_THAT(rows<GpuActivityRow>(), SizeIs(1));
  for (const auto& entry : fs::directory_iterator(run()))
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr("unpacked")));
}

TEST_F(NsysTest, CutFilesGiveWhatCameBefore) {
  for (int64_t i = 1; i <= 2000; ++i) launch(10, i, 100 * i, 100 * i + 50, 100 * i + 90);
  database_.reset();
  fs::resize_file(file(), fs::file_size(file()) * 3 / 4);
  const ImportSummary summary = import();
  EXPECT_TRUE(summary.damaged);
  EXPECT_GT(summary.files.at(0).rows, 100);
  EXPECT_LT(summary.files.at(0).rows, 4000);
  EXPECT_THAT(remark("import_cut"), HasSubstr("table CUPTI_ACTIVITY_KIND_"));
}

TEST_F(NsysTest, FlippedBitsDoNoHarm) {
  for (int64_t i = 1; i <= 30; ++i) launch(10, i, 100 * i, 100 * i + 50, 100 * i + 90);
  nvtx(10, 59, 90, "300", "'range'");
  database_.reset();
  std::ifstream input(file(), std::ios::binary);
  const std::string sound(std::istreambuf_iterator<char>(input), {});
  std::mt19937 random(90901);
  int read = 0;
  for (int round = 0; round < 60; ++round) {
    std::string bytes = sound;
    for (int hits = 0; hits < 20; ++hits) {
      char& byte = bytes[random() % bytes.size()];
      byte = static_cast<char>(byte ^ (1 << random() % 8));
    }
    std::ofstream(file(), std::ios::binary) << bytes;
    const Result<ImportSummary> summary = import_files({file()}, run(), {.overwrite = true});
    EXPECT_TRUE(summary.ok() || !summary.error().what.empty());
    read += summary.ok() ? 1 : 0;
  }
  EXPECT_GT(read, 0);
}

TEST_F(NsysTest, OtherFilesAreRefusedWithAHint) {
  sql("DROP TABLE META_DATA_EXPORT");
  database_.reset();
  const auto other = import_files({file()}, run(), {});
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, Code::kNotATrace);
  EXPECT_THAT(other.error().what, HasSubstr("not an export of Nsight Systems"));
  const fs::path report = folder_.path() / "job.nsys-rep";
  std::ofstream(report) << "\x01\x02 anything";
  const auto raw = import_files({report}, run(), {});
  ASSERT_FALSE(raw.ok());
  EXPECT_EQ(raw.error().code, Code::kNotATrace);
  EXPECT_THAT(raw.error().hint, HasSubstr("nsys export --type sqlite"));
}

TEST_F(NsysTest, ImportCanBeCancelled) {
  launch(10, 1, 100, 200, 260);
  sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000) "
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT i, i + 1, 0, 281474976710656, 0, 1, 0 FROM n");
  database_.reset();
  const auto summary =
      import_files({file()}, run(), {}, [](const fs::path&, double) { return false; });
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.error().what, "cancelled");
  EXPECT_FALSE(fs::exists(run()));
}

}  // namespace
}  // namespace dprof::analyzer
