// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/nccl/nccl_words.h"

#include <gtest/gtest.h>

namespace dprof::inject::nccl {
namespace {

// The words of ncclFuncToString and ncclDatatypeToString (src/collectives.cc of NCCL 2.26 to 2.31).
TEST(NcclWords, FunctionsHaveTheTracesNumbers) {
  using namespace wire::function;
  EXPECT_EQ(function_of("AllReduce"), kAllReduce);
  EXPECT_EQ(function_of("AllGather"), kAllGather);
  EXPECT_EQ(function_of("ReduceScatter"), kReduceScatter);
  EXPECT_EQ(function_of("Broadcast"), kBroadcast);
  EXPECT_EQ(function_of("Reduce"), kReduce);
  EXPECT_EQ(function_of("Gather"), kGather);
  EXPECT_EQ(function_of("Scatter"), kScatter);
  EXPECT_EQ(function_of("AlltoAll"), kAllToAll);
  EXPECT_EQ(function_of("Send"), kSend);
  EXPECT_EQ(function_of("Recv"), kRecv);
}

TEST(NcclWords, OtherFunctionsAreUnknown) {
  for (const char* word :
       {"", "Invalid", "SendRecv", "AllGatherV", "PutSignal", "Signal", "allreduce", "Sent",
        "Gatter", "AllReduc3", "AllGathe?", "Broadcasr", "Scattes", "AlltoAlL", "ReduceScattex",
        "a word that is longer than any of them"}) {
    EXPECT_EQ(function_of(word), wire::function::kUnknown) << word;
  }
  EXPECT_EQ(function_of(nullptr), wire::function::kUnknown);
}

TEST(NcclWords, DataTypesHaveTheTracesNumbers) {
  using namespace wire::data_type;
  EXPECT_EQ(data_type_of("ncclInt8"), kInt8);
  EXPECT_EQ(data_type_of("ncclUint8"), kUint8);
  EXPECT_EQ(data_type_of("ncclInt32"), kInt32);
  EXPECT_EQ(data_type_of("ncclUint32"), kInt32);
  EXPECT_EQ(data_type_of("ncclInt64"), kInt64);
  EXPECT_EQ(data_type_of("ncclUint64"), kInt64);
  EXPECT_EQ(data_type_of("ncclFloat16"), kFloat16);
  EXPECT_EQ(data_type_of("ncclFloat32"), kFloat32);
  EXPECT_EQ(data_type_of("ncclFloat64"), kFloat64);
  EXPECT_EQ(data_type_of("ncclBfloat16"), kBfloat16);
  EXPECT_EQ(data_type_of("ncclFloat8e4m3"), kFloat8);
  EXPECT_EQ(data_type_of("ncclFloat8e5m2"), kFloat8);
}

TEST(NcclWords, OtherDataTypesAreUnknown) {
  for (const char* word : {"", "Unknown", "ncclInt16", "ncclInt4", "ncclUint16", "ncclFloat99",
                           "ncclFloat8e3m4", "float32", "ncclBfloat17"}) {
    EXPECT_EQ(data_type_of(word), wire::data_type::kUnknown) << word;
  }
  EXPECT_EQ(data_type_of(nullptr), wire::data_type::kUnknown);
}

}  // namespace
}  // namespace dprof::inject::nccl
