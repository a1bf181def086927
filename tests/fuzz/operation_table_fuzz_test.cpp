// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/in_time.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace dprof::analyzer {
namespace {

using fuzz::in_time;
constexpr const char* kGood = R"([
{"name":"forward-compute","ph":"X","pid":0,"tid":0,"ts":10.5,"dur":5,"args":{"step":1,"model_chunk":0,"mb_id":0,"seq_id":0}},
{"name":"forward-send","ph":"X","pid":0,"tid":1,"ts":16,"dur":2,"args":{"step":1,"model_chunk":-1,"seq_id":0}},
{"name":"forward-recv","ph":"X","pid":0,"tid":3,"ts":16,"dur":2,"args":{"step":1,"model_chunk":-1,"seq_id":0}},
{"name":"thread_name","ph":"M","pid":0,"tid":0,"args":{"name":"PP rank 0, TP rank 0, compute"}},
{"name":"thread_name","ph":"M","pid":0,"tid":1,"args":{"name":"PP rank 0, TP rank 0, pp-comm"}},
{"name":"thread_name","ph":"M","pid":0,"tid":3,"args":{"name":"PP rank 1, TP rank 0, pp-comm"}}])";

void give(const std::string& input) {
  ASSERT_EQ(LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size()),
            0);
}

TEST(OperationTableFuzzTest, ChangedTablesDoNoHarm) {
  static const std::vector<std::string> kPieces = {
      "{",    "}",         "[",  "]",   "\"",       "-1",         "1e999",
      "null", "\\",        ":",  ",",   "PP rank ", "99999999",   "-",
      "step", "optimizer", "gc", "tid", "65535",    "4294967296", "send"};
  std::mt19937 random(70301);
  const auto from = std::chrono::steady_clock::now();
  for (int i = 0; i < 2'000 && in_time(from); ++i) {
    std::string input = kGood;
    for (size_t n = random() % 5; n > 0; --n) {
      const std::string& piece = kPieces[random() % kPieces.size()];
      input.replace(random() % input.size(), random() % 8, piece);
    }
    give(input);
  }
}

TEST(OperationTableFuzzTest, CutsDoNoHarm) {
  const std::string good = kGood;
  const auto from = std::chrono::steady_clock::now();
  for (size_t length = good.size(); length > 0 && in_time(from);
       length -= std::min<size_t>(length, 3))
    give(good.substr(0, length));
}

}  // namespace
}  // namespace dprof::analyzer
