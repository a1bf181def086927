// SPDX-License-Identifier: Apache-2.0
// The two records that fix the formulas of NCCL's Inspector (NVIDIA/nccl 5067397, Apache-2.0): an
// all-reduce and a reduce-scatter with the bandwidths that the plugin computed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "analyzer/breakdown/bandwidth.h"
#include "analyzer/import/nccl_inspector/records.h"
#include "tests/real_traces/real_traces.h"

namespace dprof::real_traces {
namespace {

using analyzer::nccl_inspector::Record;
using schema::Function;

std::string inspector_file(const std::filesystem::path& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

struct KnownOperation {
  const char* file;
  Function function;
  int64_t input_bytes;
};

class InspectorTraceTest : public ::testing::TestWithParam<KnownOperation> {};

TEST_P(InspectorTraceTest, OurBandwidthsAreThePlugins) {
  const std::filesystem::path path = shared_traces() / "nccl_inspector" / GetParam().file;
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "the recordings are not in ../shared/traces";
  const Result<Record> record = analyzer::nccl_inspector::record_of(inspector_file(path));
  ASSERT_TRUE(record.ok()) << record.error().what;
  EXPECT_EQ(record->function, GetParam().function);
  const std::optional<int64_t> input = analyzer::nccl_inspector::input_bytes(*record);
  ASSERT_EQ(input, GetParam().input_bytes);
  const auto ranks = static_cast<size_t>(record->ranks);
  const auto bandwidth =
      analyzer::bandwidth_of(record->function, analyzer::size_of(record->function, *input, ranks),
                             ranks, record->duration_ns);
  ASSERT_TRUE(bandwidth);
  // The plugin prints six decimals of 1e9 bytes/s.
  EXPECT_NEAR(bandwidth->algbw / 1e9, *record->algbw_gbs, 1e-6);
  EXPECT_NEAR(bandwidth->busbw / 1e9, *record->busbw_gbs, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(
    Records, InspectorTraceTest,
    ::testing::Values(KnownOperation{"record_1.json", Function::kAllReduce, 17'179'869'184},
                      KnownOperation{"record_2.json", Function::kReduceScatter,
                                     8 * int64_t{2'147'483'648}}),
    [](const auto& test) { return std::string(word_of(test.param.function)); });

TEST(InspectorImportTest, RecordsAreRows) {
  const Imported& imported = imported_once({"nccl_inspector"});
  DPROF_SKIP_IF_ABSENT(imported);
  ASSERT_EQ(imported.summary().files.size(), 2U);
  const schema::TraceReader trace = imported.trace(4);
  const auto rows = *trace.read_all<schema::CollectiveRow>();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].function, Function::kReduceScatter);
  EXPECT_EQ(rows[0].sequence, 1231);
  EXPECT_EQ(*rows[0].end_ns - *rows[0].start_ns, 41'057'000);
}

}  // namespace
}  // namespace dprof::real_traces
