// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <string>
#include <string_view>

#include "analyzer/import/import.h"
#include "schema/trace_reader.h"
#include "tests/support/temporary_folder.h"

namespace dprof::analyzer {
namespace {

using schema::CollectiveRow;
using schema::GpuActivityRow;
using schema::HostRangeRow;
using schema::RangeCategory;
using schema::TraceReader;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class KinetoTest : public ::testing::Test {
 protected:
  ImportSummary import(std::string_view text, const std::string& name = "a.json") {
    std::ofstream(folder_.path() / name, std::ios::binary) << text;
    Result<ImportSummary> summary =
        import_files({folder_.path() / name}, folder_.path() / "run", {.overwrite = true});
    EXPECT_TRUE(summary.ok()) << summary.error().what;
    return summary.ok() ? *std::move(summary) : ImportSummary{};
  }

  TraceReader trace(int rank = 0) {
    Result<TraceReader> reader =
        TraceReader::open(folder_.path() / "run" / fmt::format("rank-{:05}.dprof", rank));
    EXPECT_TRUE(reader.ok());
    return *std::move(reader);
  }

  template <typename Row>
  std::vector<Row> rows() {
    return *trace().read_all<Row>();
  }

  // Name, start and duration (-1 = open) of all ranges.
  std::vector<std::tuple<std::string, int64_t, int64_t>> ranges() {
    std::vector<std::tuple<std::string, int64_t, int64_t>> all;
    const TraceReader reader = trace();
    EXPECT_TRUE(reader
                    .for_each<HostRangeRow>([&](const HostRangeRow& row) {
                      all.emplace_back(reader.string(row.name_id), row.start_ns,
                                       row.duration_ns.value_or(-1));
                    })
                    .ok());
    return all;
  }

  // Skipped rows as in the diagnostics, without the file's name.
  std::vector<std::pair<std::string, std::string>> remarks() {
    std::vector<std::pair<std::string, std::string>> all;
    const TraceReader reader = trace();
    EXPECT_TRUE(reader
                    .for_each<schema::DiagnosticRow>([&](const schema::DiagnosticRow& row) {
                      if (row.code == "import_no_rank") return;
                      const std::string& text = reader.string(row.text_id);
                      const size_t colon = text.find(": ");
                      all.emplace_back(row.code, text.substr(colon + 2));
                    })
                    .ok());
    return all;
  }

  int64_t lost() {
    int64_t count = 0;
    for (const schema::LossRow& row : rows<schema::LossRow>()) {
      EXPECT_EQ(row.reason, schema::LossReason::kSkippedRow);
      EXPECT_EQ(row.source, schema::Source::kImport);
      count += row.count;
    }
    return count;
  }

  test_support::TemporaryFolder folder_;
};

TEST_F(KinetoTest, NewAndOldCategoryNamesMeanTheSame) {
  constexpr std::string_view kEvents = R"j([
    {{"ph":"X","cat":"{}","name":"aten::add","pid":9,"tid":9,"ts":1,"dur":9}},
    {{"ph":"X","cat":"{}","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":2,"dur":1,"args":{{"correlation":5}}}},
    {{"ph":"X","cat":"{}","name":"k","pid":0,"tid":"stream 7","ts":4,"dur":2,"args":{{"correlation":5,"device":0}}}},
    {{"ph":"X","cat":"{}","name":"Memcpy HtoD (Pinned -> Device)","pid":0,"tid":"stream 7","ts":7,"dur":1,
      "args":{{"device":0,"stream":7,"bytes":64}}}},
    {{"ph":"X","cat":"{}","name":"Memset (Device)","pid":0,"tid":7,"ts":9,"dur":1,"args":{{"device":0}}}}])j";
  using Words = std::array<const char*, 5>;
  for (const Words& words : {Words{"cpu_op", "cuda_runtime", "kernel", "gpu_memcpy", "gpu_memset"},
                             Words{"Operator", "Runtime", "Kernel", "Memcpy", "Memset"}}) {
    import(fmt::format(fmt::runtime(kEvents), words[0], words[1], words[2], words[3], words[4]));
    EXPECT_THAT(ranges(), ElementsAre(std::tuple("aten::add", 0, 9000),
                                      std::tuple("cudaLaunchKernel", 1000, 1000)));
    EXPECT_EQ(rows<HostRangeRow>()[0].category, RangeCategory::kOp);
    EXPECT_EQ(rows<HostRangeRow>()[1].category, RangeCategory::kApi);
    EXPECT_EQ(rows<HostRangeRow>()[1].correlation, 5);
    const auto gpu = rows<GpuActivityRow>();
    ASSERT_EQ(gpu.size(), 3U);
    EXPECT_EQ(gpu[0].kind, schema::GpuActivityKind::kKernel);
    EXPECT_EQ(gpu[0].correlation, 5);
    EXPECT_EQ(gpu[1].kind, schema::GpuActivityKind::kMemcpyH2d);
    EXPECT_EQ(gpu[1].bytes, 64);
    EXPECT_EQ(gpu[2].kind, schema::GpuActivityKind::kMemset);
    EXPECT_EQ(rows<schema::StreamRow>().size(), 1U) << "'stream 7' and 7 are one";
    EXPECT_EQ(trace().meta("imported_format"), "kineto");
    EXPECT_EQ(rows<schema::ThreadRow>()[0].role, schema::ThreadRole::kMain) << "its tid is its pid";
  }
}

TEST_F(KinetoTest, RowsStandInStartOrderWhateverTheFilesOrder) {
  import(R"([{"ph":"X","name":"c","pid":1,"tid":1,"ts":30,"dur":1},
             {"ph":"X","name":"inner","pid":1,"tid":1,"ts":10,"dur":5},
             {"ph":"X","name":"outer","pid":1,"tid":1,"ts":10,"dur":15},
             {"ph":"X","name":"elsewhere","pid":1,"tid":2,"ts":5,"dur":90}])");
  EXPECT_THAT(ranges(),
              ElementsAre(std::tuple("elsewhere", 0, 90'000), std::tuple("outer", 5'000, 15'000),
                          std::tuple("inner", 5'000, 5'000), std::tuple("c", 25'000, 1'000)));
  int64_t id = 0;
  for (const HostRangeRow& row : rows<HostRangeRow>()) EXPECT_EQ(row.id, ++id);
}

TEST_F(KinetoTest, EveryEventIsInATableOrCounted) {
  const ImportSummary summary = import(R"({"schemaVersion":1,"traceEvents":[
    {"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1},
    {"ph":"X","cat":"cpu_op","name":"no_dur","pid":1,"tid":1,"ts":1},
    {"ph":"X","cat":"cpu_op","name":"negative","pid":1,"tid":1,"ts":1,"dur":-3},
    {"ph":"X","cat":"cpu_op","name":"zero","pid":1,"tid":1,"ts":9,"dur":0},
    {"ph":"X","cat":"cpu_op","name":"bad","pid":1,"tid":1,"ts":"1x","dur":3},
    {"ph":"X","cat":"cpu_op","name":"huge","pid":1,"tid":1,"ts":1e60,"dur":3},
    {"ph":"X","cat":"gpu_user_annotation","name":"u","pid":0,"tid":7,"ts":1,"dur":3},
    {"ph":"s","cat":"ac2g","id":1,"name":"ac2g","pid":1,"tid":1,"ts":1},
    {"ph":"f","cat":"ipc","id":1,"name":"ipc","pid":1,"tid":1,"ts":1},
    {"ph":"C","name":"counter","pid":1,"ts":1,"args":{"v":1}},
    {"ph":"M","name":"process_name","pid":1,"args":{"name":"python"}},
    {"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"loop"}},
    {"ph":"E","pid":1,"tid":1,"ts":5},
    {"ph":"P","pid":1,"tid":1,"ts":5},
    {}, 7, null]})");
  EXPECT_THAT(ranges(), ElementsAre(std::tuple("a", 0, 1000), std::tuple("zero", 8000, 0)));
  EXPECT_EQ(summary.files[0].rows, 2);
  EXPECT_EQ(summary.files[0].skipped, 14);  // 17 minus 2 rows and the thread's name
  EXPECT_EQ(lost(), 14);
  EXPECT_FALSE(summary.damaged) << "the file itself is whole";
  EXPECT_THAT(
      remarks(),
      UnorderedElementsAre(
          Pair("import_skipped", "1 complete events without a usable duration (`dur`)"),
          Pair("import_skipped", "1 events with a negative duration"),
          Pair("import_skipped", "2 events without a usable time (`ts`)"),
          Pair("import_repeats",
               "1 annotations repeated on a stream (the range of the host is there)"),
          Pair("import_repeats",
               "1 flow arrows of the profiler (the correlation and sequence columns say the same)"),
          Pair("import_skipped", "1 flow arrows"), Pair("import_skipped", "1 counters"),
          Pair("import_repeats", "1 names, labels and sort orders of rows without events"),
          Pair("import_skipped", "1 ends without a begin"),
          Pair("import_skipped", "1 samples, objects, thread states and other kinds of events"),
          Pair("import_skipped", "1 events without a kind (`ph`)"),
          Pair("import_skipped", "2 elements that are no events")));
}

TEST_F(KinetoTest, BeginsAndEndsBecomeRanges) {
  import(R"([
    {"ph":"B","name":"outer","pid":1,"tid":1,"ts":1}, {"ph":"B","name":"inner","pid":1,"tid":1,"ts":2},
    {"ph":"E","pid":1,"tid":1,"ts":4}, {"ph":"E","name":"outer","pid":1,"tid":1,"ts":9},
    {"ph":"B","name":"never","pid":1,"tid":2,"ts":5}, {"ph":"E","name":"other","pid":1,"tid":2,"ts":6},
    {"ph":"b","cat":"c","id":"7","name":"async","pid":1,"tid":1,"ts":3},
    {"ph":"e","cat":"c","id":"7","name":"async","pid":1,"tid":3,"ts":8},
    {"ph":"i","name":"moment","pid":1,"tid":1,"ts":7}])");
  EXPECT_THAT(ranges(),
              ElementsAre(std::tuple("outer", 0, 8'000), std::tuple("inner", 1'000, 2'000),
                          std::tuple("async", 2'000, 5'000), std::tuple("never", 4'000, -1),
                          std::tuple("moment", 6'000, 0)));
  EXPECT_EQ(trace().meta("imported_format"), "chrome");
}

TEST_F(KinetoTest, AFileThatIsCutKeepsWhatCameBefore) {
  const std::string whole =
      R"({"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1},)"
      R"({"ph":"X","name":"b","pid":1,"tid":1,"ts":3,"dur":1}], "displayTimeUnit": "ms"})";
  EXPECT_FALSE(import(whole).damaged);
  EXPECT_EQ(trace().meta("ended"), "complete");
  for (const size_t length : {whole.find("\"b\""), whole.size() - 1, whole.find(']')}) {
    const ImportSummary summary = import(whole.substr(0, length));
    EXPECT_TRUE(summary.damaged) << length;
    EXPECT_GE(ranges().size(), 1U);
    EXPECT_EQ(trace().meta("ended"), "recovered");
    EXPECT_EQ(remarks().at(0).first, "import_cut");
  }
}

TEST_F(KinetoTest, AnEventThatIsNoJsonCostsOnlyItself) {
  const ImportSummary summary = import(R"([
    {"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1},
    {"ph":"X","name" "broken","pid":1,"tid":1,"ts":2,"dur":1},
    {"ph":"X","name":"c","pid":1,"tid":1,"ts":3,"dur":1}])");
  EXPECT_EQ(ranges().size(), 2U);
  EXPECT_TRUE(summary.damaged);
  EXPECT_EQ(lost(), 1);
}

TEST_F(KinetoTest, NestedToDeathAndOverlongEventsAreSkipped) {
  std::string text = R"([{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1,"args":{"x":)";
  text += std::string(3'000'000, '[') + std::string(3'000'000, ']') + "}},";
  text += R"({"ph":"X","name":"long","pid":1,"tid":1,"ts":2,"dur":1,"args":{"x":")";
  text += std::string(size_t{17} << 20, 'x');
  text += R"("}}, {"ph":"X","name":"b","pid":1,"tid":1,"ts":3,"dur":1}])";
  const ImportSummary summary = import(text);
  EXPECT_FALSE(summary.damaged);
  EXPECT_THAT(ranges(), ElementsAre(std::tuple("b", 0, 1000)));
  EXPECT_EQ(lost(), 2);
}

TEST_F(KinetoTest, MillionsOfNamesAndTextsThatAreNoText) {
  std::string text = "[";
  for (int i = 0; i < 20'000; ++i)
    text += fmt::format(R"({{"ph":"X","name":"n{}","pid":1,"tid":1,"ts":{},"dur":1}},)", i, i);
  text += "{\"ph\":\"X\",\"name\":\"\xFF\\u0000\",\"pid\":1,\"tid\":1,\"ts\":99999,\"dur\":1}]";
  import(text);
  const auto all = ranges();
  ASSERT_EQ(all.size(), 20'001U);
  EXPECT_EQ(std::get<0>(all[12'345]), "n12345");
  EXPECT_EQ(std::get<0>(all.back()), "\xEF\xBF\xBD ");
}

TEST_F(KinetoTest, GzipIsKnownByItsContent) {
  const std::string text = R"([{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}])";
  const std::string path = (folder_.path() / "a.json").string();
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  ASSERT_TRUE(import_files({path}, folder_.path() / "run", {.overwrite = true}).ok());
  EXPECT_EQ(ranges().size(), 1U);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 12);  // cut within its data
  const Result<ImportSummary> cut =
      import_files({path}, folder_.path() / "run", {.overwrite = true});
  EXPECT_TRUE(!cut.ok() || cut->damaged);
}

TEST_F(KinetoTest, FactsOfTheFile) {
  import(R"({"schemaVersion":1,"distributedInfo":{"backend":"nccl","rank":3,"world_size":8,
      "nccl_version":"2.17.1"},"host_name":"node7","baseTimeNanoseconds":1711964646000000000,
    "traceEvents":[{"ph":"X","cat":"kernel","name":"k","pid":1,"tid":7,"ts":100.25,"dur":1,
      "args":{"grid":[4,2,1],"block":[128,1,1],"registers per thread":32,"shared memory":64}}],
    "deviceProperties":[{"id":0,"name":"A"},{"id":1,"name":"V100","totalGlobalMem":5,"computeMajor":7,
      "computeMinor":0,"odd":NaN}]})",
         "worker9.json");
  const TraceReader reader = trace(3);
  EXPECT_EQ(reader.meta("rank"), "3") << "what it says counts, not its name";
  EXPECT_EQ(reader.meta("world_size"), "8");
  EXPECT_EQ(reader.meta("host"), "node7");
  EXPECT_EQ(reader.meta("clock_id"), "import:node7");
  EXPECT_EQ(reader.meta("nccl_version"), "2.17.1");
  EXPECT_EQ(reader.meta("time_resolution_ns"), "10");
  EXPECT_EQ(reader.meta("origin_realtime_ns"), "1711964646000100250");
  EXPECT_EQ(reader.meta("imported_from"), "worker9.json");
  const auto shapes = *reader.read_all<schema::KernelShapeRow>();
  ASSERT_EQ(shapes.size(), 1U);
  EXPECT_EQ(shapes[0].activity_id, 1);
  EXPECT_EQ(shapes[0].grid_x, 4);
  EXPECT_EQ(shapes[0].block_x, 128);
  EXPECT_EQ(reader.read_all<schema::DeviceRow>()->size(), 1U)
      << "devices without rows are not used";
}

TEST_F(KinetoTest, ABaseTimeThatIsNoTimeIsCountedAndNotUsed) {
  for (const char* base : {"9223372036854775807", "-9223372036854775808", "1e99", "null"}) {
    import(fmt::format(R"({{"schemaVersion":1,"distributedInfo":{{"rank":0,"world_size":8}},
      "host_name":"node7","baseTimeNanoseconds":{},"traceEvents":[
      {{"ph":"X","cat":"kernel","name":"k","pid":1,"tid":7,"ts":100.25,"dur":1}}]}})",
                       base));
    EXPECT_EQ(trace().meta("origin_realtime_ns"), std::nullopt) << base;
    EXPECT_EQ(lost(), 1) << base;
  }
}

// Two ranks in one file; the names of their processes follow their events, and one process has no
// rank.
TEST_F(KinetoTest, SeveralRanksInOneFileAreSeveralTraces) {
  const ImportSummary summary = import(R"({"schemaVersion": 1,
"distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 4},
"traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 100, "tid": 1, "ts": 10, "dur": 5, "args": {}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 101, "tid": 7, "ts": 12, "dur": 9, "args": {"device": 0, "stream": 7}},
{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 300, "tid": 1, "ts": 11, "dur": 3, "args": {}},
{"ph": "X", "cat": "cpu_op", "name": "aten::mul", "pid": 300, "tid": 1, "ts": 15, "dur": 3, "args": {}},
{"ph": "X", "cat": "cpu_op", "name": "aten::lost", "pid": 900, "tid": 1, "ts": 15, "dur": 3, "args": {}},
{"ph": "M", "name": "process_name", "pid": 100, "tid": 0, "ts": 0, "args": {"name": "rank 1: python"}},
{"ph": "M", "name": "process_name", "pid": 101, "tid": 0, "ts": 0, "args": {"name": "rank 1: GPU 0"}},
{"ph": "M", "name": "process_name", "pid": 300, "tid": 0, "ts": 0, "args": {"name": "rank 3: python"}}
]})");
  ASSERT_EQ(summary.files.size(), 1U);
  EXPECT_THAT(summary.files.front().ranks, ElementsAre(1, 3));
  const TraceReader one = trace(1);
  const TraceReader three = trace(3);
  const auto names_in = [](const TraceReader& reader) {
    std::vector<std::string> names;
    const auto all = *reader.read_all<HostRangeRow>();
    for (const HostRangeRow& row : all) names.push_back(reader.string(row.name_id));
    return names;
  };
  EXPECT_THAT(names_in(one), ElementsAre("aten::mm"));
  EXPECT_THAT(names_in(three), ElementsAre("aten::add", "aten::mul"));
  EXPECT_EQ(one.read_all<GpuActivityRow>()->size(), 1U);
  EXPECT_TRUE(three.read_all<GpuActivityRow>()->empty());
  EXPECT_EQ(three.meta_int("world_size"), 4);
  EXPECT_NE(one.meta("clock_id"), three.meta("clock_id"));
  int64_t lost = 0;
  const auto losses = one.read_all<schema::LossRow>();
  ASSERT_TRUE(losses.ok());
  for (const schema::LossRow& row : *losses) lost += row.count;
  EXPECT_GE(lost, 1) << "the event of process 900";
}

TEST_F(KinetoTest, AFileWithoutAHostIsAClockOfItsOwn) {
  std::vector<std::filesystem::path> files;
  for (const char* name : {"rank1.json", "rank0.json"}) {
    files.push_back(folder_.path() / name);
    std::ofstream(files.back()) << R"([{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}])";
  }
  ASSERT_TRUE(import_files(files, folder_.path() / "run", {}).ok());
  EXPECT_NE(trace(0).meta("clock_id"), trace(1).meta("clock_id"));
  EXPECT_EQ(trace(0).meta("host"), std::nullopt);
  EXPECT_EQ(trace(0).meta("run_id"), trace(1).meta("run_id"));
  EXPECT_EQ(trace(0).meta("imported_from"), "rank0.json") << "only its name shows it";
}

TEST_F(KinetoTest, StepsAndMemory) {
  import(R"([
    {"ph":"X","cat":"user_annotation","name":"ProfilerStep#4","pid":9,"tid":9,"ts":10,"dur":10},
    {"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#4","pid":0,"tid":7,"ts":11,"dur":30},
    {"ph":"X","cat":"Operator","name":"ProfilerStep#5","pid":9,"tid":"9","ts":20,"dur":10},
    {"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":9,"tid":9,"ts":12,
     "args":{"Total Reserved":100,"Total Allocated":40,"Bytes":8,"Addr":137877174353920,"Device Id":1,"Device Type":1}},
    {"ph":"i","s":"t","name":"[memory]","pid":9,"tid":9,"ts":13,"args":{"Device Type":0,"Device Id":-1,"Bytes":-4}}])");
  const auto steps = rows<schema::StepRow>();
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].step_index, 4);
  EXPECT_EQ(steps[0].end_ns, 10'000);
  EXPECT_EQ(steps[1].step_index, 5);
  EXPECT_EQ(steps[0].source, schema::StepSource::kMarker);
  for (const HostRangeRow& row : rows<HostRangeRow>())
    EXPECT_EQ(row.category, RangeCategory::kUser);
  const auto memory = rows<schema::MemoryEventRow>();
  ASSERT_EQ(memory.size(), 2U);
  EXPECT_EQ(memory[0].address, 137'877'174'353'920);
  EXPECT_EQ(memory[0].device_id, 1);
  EXPECT_EQ(memory[0].allocated_bytes, 40);
  EXPECT_EQ(memory[1].kind, schema::MemoryEventKind::kFree);
  EXPECT_EQ(memory[1].bytes, 4);
  EXPECT_EQ(memory[1].device_id, -1);
}

TEST_F(KinetoTest, ACollectiveIsPutTogetherFromKernelAndCall) {
  import(
      R"j({"schemaVersion":1,"distributedInfo":{"backend":"nccl","rank":1,"world_size":2},"traceEvents":[
    {"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)","pid":0,"tid":40,"ts":50,"dur":20,
     "args":{"device":0,"stream":40,"correlation":77}},
    {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernelExC","pid":9,"tid":12,"ts":14,"dur":2,"args":{"correlation":77}},
    {"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":9,"tid":12,"ts":10,"dur":10,"args":{
     "Collective name":"allreduce","dtype":"BFloat16","In msg nelems":1000,"Out msg nelems":1000,"Seq":6,
     "Process Group Name":"0","Process Group Ranks":"[0, 1]","Group size":2}},
    {"ph":"X","cat":"user_annotation","name":"nccl:all_reduce","pid":9,"tid":12,"ts":12,"dur":5,"args":{}},
    {"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":9,"tid":12,"ts":30,"dur":1,"args":{
     "Collective name":"wait","Process Group Name":"0","Process Group Ranks":"[]","Group size":1}},
    {"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":9,"tid":12,"ts":40,"dur":2,"args":{
     "Collective name":"send","dtype":"Float","In msg nelems":3,"Process Group Name":"0",
     "Process Group Ranks":"[0, 1]","Group size":2,"Dst Rank":0}}]})j");
  const TraceReader reader = trace(1);
  const auto collectives = *reader.read_all<CollectiveRow>();
  ASSERT_EQ(collectives.size(), 2U);
  const CollectiveRow& reduce = collectives[0];
  EXPECT_EQ(reduce.function, schema::Function::kAllReduce);
  EXPECT_EQ(reduce.enqueue_ns, 0);
  EXPECT_EQ(reduce.start_ns, 40'000);
  EXPECT_EQ(reduce.end_ns, 60'000);
  EXPECT_EQ(reduce.bytes, 2000);
  EXPECT_EQ(reduce.count, 1000);
  EXPECT_EQ(reduce.dtype, schema::DataType::kBfloat16);
  EXPECT_EQ(reduce.group_sequence, 5) << "c10d counts from 1";
  EXPECT_EQ(reduce.reduction, schema::Reduction::kSum);
  EXPECT_EQ(reduce.correlation, 77);
  EXPECT_EQ(reduce.state, schema::CollectiveState::kComplete);
  EXPECT_TRUE(reduce.enqueue_thread_id.has_value());
  EXPECT_EQ(collectives[1].function, schema::Function::kSend);
  EXPECT_EQ(collectives[1].state, schema::CollectiveState::kUnobserved);
  EXPECT_EQ(collectives[1].peer, 0);
  const auto communicators = *reader.read_all<schema::CommunicatorRow>();
  ASSERT_EQ(communicators.size(), 1U);
  EXPECT_EQ(communicators[0].size, 2);
  EXPECT_EQ(communicators[0].own_rank, 1);
  EXPECT_EQ(communicators[0].backend, schema::Backend::kNccl);
  EXPECT_EQ(reader.read_all<schema::CommunicatorMemberRow>()->size(), 2U);
}

TEST_F(KinetoTest, GloosRangesAreTheExecution) {
  import(R"([
    {"ph":"X","cat":"cpu_op","name":"gloo:all_reduce","pid":9,"tid":11,"ts":20,"dur":5,
     "args":{"Input Dims":[[2, 3], []],"Input type":["float", "Int"]}},
    {"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":9,"tid":9,"ts":10,"dur":1,"args":{
     "Collective name":"allreduce","dtype":"Float","In msg nelems":6,"Process Group Name":"0",
     "Process Group Ranks":"[0, 1, ..., 7]","Group size":8,"Global rank start":0,"Global rank stride":1}}])");
  const auto collectives = rows<CollectiveRow>();
  ASSERT_EQ(collectives.size(), 1U);
  EXPECT_EQ(collectives[0].enqueue_ns, 0);
  EXPECT_EQ(collectives[0].start_ns, 10'000);
  EXPECT_EQ(collectives[0].end_ns, 15'000);
  EXPECT_EQ(collectives[0].bytes, 24);
  EXPECT_TRUE(collectives[0].thread_id.has_value());
  EXPECT_EQ(rows<schema::CommunicatorRow>()[0].backend, schema::Backend::kGloo);
  EXPECT_EQ(rows<schema::CommunicatorMemberRow>().size(), 8U)
      << "the list was cut; start and stride";
}

TEST_F(KinetoTest, SynchronisationsAndWhatTheyWaitedFor) {
  import(R"([
    {"ph":"X","cat":"cuda_runtime","name":"cudaEventRecord","pid":9,"tid":9,"ts":1,"dur":1,"args":{"correlation":3}},
    {"ph":"X","cat":"cuda_sync","name":"Stream Wait Event","pid":0,"tid":20,"ts":5,"dur":1,"args":{
     "cuda_sync_kind":"Stream Wait Event","wait_on_stream":7,"wait_on_cuda_event_record_corr_id":3,
     "wait_on_cuda_event_id":9,"stream":20,"correlation":4,"device":0}},
    {"ph":"X","cat":"cuda_sync","name":"Context Sync","pid":0,"tid":-1,"ts":9,"dur":2,"args":{
     "cuda_sync_kind":"Context Sync","stream":-1,"correlation":5,"device":0}}])");
  const auto gpu = rows<GpuActivityRow>();
  ASSERT_EQ(gpu.size(), 2U);
  EXPECT_EQ(gpu[0].kind, schema::GpuActivityKind::kSync);
  const auto waits = rows<schema::GpuDependencyRow>();
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(waits[0].event, 9);
  EXPECT_EQ(waits[0].record_ns, 0);
  EXPECT_EQ(waits[0].wait_ns, 4'000);
  EXPECT_TRUE(waits[0].record_stream_id && waits[0].wait_stream_id);
  EXPECT_NE(waits[0].record_stream_id, waits[0].wait_stream_id);
}

}  // namespace
}  // namespace dprof::analyzer
