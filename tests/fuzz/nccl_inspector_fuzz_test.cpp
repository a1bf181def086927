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
constexpr const char* kGood =
    R"({"header": {"id": "0x1f", "rank": 2, "n_ranks": 8}, "metadata": {"dump_timestamp_us": 1748030377748202,
        "hostname": "h", "pid": 1}, "coll_perf": {"coll": "AllReduce", "coll_sn": 7,
        "coll_msg_size_bytes": 4096, "coll_exec_time_us": 61, "event_trace_ts":
        {"coll_start_ts": 5, "kernel_events": [{"kernel_start_ts": 6}]}}})";

void give(const std::string& input) {
  ASSERT_EQ(LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size()),
            0);
}

TEST(InspectorFuzzTest, NoiseDoesNoHarm) {
  std::mt19937 random(70201);
  const auto from = std::chrono::steady_clock::now();
  for (int i = 0; i < 20'000 && in_time(from); ++i) {
    std::string input = "{";
    for (size_t n = random() % 200; n > 0; --n) input += static_cast<char>(random());
    give(input + "}");
  }
}

TEST(InspectorFuzzTest, ChangedRecordsDoNoHarm) {
  static const std::vector<std::string> kPieces = {
      "{", "}", "[", "]", "\"", "-1", "1e999", "null", "18446744073709551615", "\\", ":", ","};
  std::mt19937 random(70202);
  const auto from = std::chrono::steady_clock::now();
  for (int i = 0; i < 30'000 && in_time(from); ++i) {
    std::string input = kGood;
    for (size_t n = random() % 4; n > 0; --n) {
      const std::string& piece = kPieces[random() % kPieces.size()];
      input.replace(random() % input.size(), random() % 6, piece);
    }
    give(input + kGood);
  }
}

TEST(InspectorFuzzTest, EveryCutDoesNoHarm) {
  const std::string good = kGood;
  for (size_t length = 0; length <= good.size(); ++length) give(good.substr(0, length));
}

}  // namespace
}  // namespace dprof::analyzer
