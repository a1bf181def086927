// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <string_view>

#include "tests/fuzz/in_time.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using dprof::fuzz::in_time;

int feed(std::string_view text) {
  return LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

// A file that has something of everything.
constexpr std::string_view kSound =
    R"json({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "V100",
 "totalGlobalMem": 34079899648, "computeMajor": 7, "computeMinor": 0}],
 "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2, "pg_config": [{"pg_name": "0", "ranks": [0, 1]}]},
 "traceEvents": [
 {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 9, "tid": 9, "ts": 1.5, "dur": 9, "args": {"Sequence number": 4}},
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 2, "dur": 1, "args": {"correlation": 5}},
 {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "pid": 0, "tid": 7, "ts": 4, "dur": 2.25,
  "args": {"correlation": 5, "device": 0, "stream": 7, "grid": [1, 2, 3], "block": [32, 1, 1], "External id": 3}},
 {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 9, "tid": 9, "ts": 1.75, "dur": 3, "args": {
  "Collective name": "allreduce", "dtype": "Float", "In msg nelems": 10, "Seq": 3, "Process Group Name": "0",
  "Process Group Ranks": "[0, 1]", "Group size": 2, "Global rank start": 0, "Global rank stride": 1}},
 {"ph": "X", "cat": "cpu_op", "name": "gloo:broadcast", "pid": 9, "tid": "11", "ts": 3, "dur": 3,
  "args": {"Input Dims": [[2, 3], []], "Input type": ["float", "Int"], "External id": 8}},
 {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoH", "pid": 0, "tid": "stream 7", "ts": 9, "dur": 1, "args": {"bytes": 64}},
 {"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 0, "tid": 20, "ts": 5, "dur": 1, "args": {
  "cuda_sync_kind": "Stream Wait Event", "wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 5,
  "wait_on_cuda_event_id": 9, "stream": 20, "correlation": 4, "device": 0}},
 {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 9, "tid": 9, "ts": 1, "dur": 20},
 {"ph": "B", "name": "b", "pid": 1, "tid": 1, "ts": 1}, {"ph": "E", "pid": 1, "tid": 1, "ts": 4},
 {"ph": "b", "cat": "c", "id2": {"local": "7"}, "name": "a\u00e9\n", "pid": 1, "tid": 1, "ts": 3},
 {"ph": "e", "cat": "c", "id2": {"local": "7"}, "name": "a", "pid": 1, "tid": 3, "ts": 8},
 {"ph": "i", "s": "t", "name": "[memory]", "pid": 9, "tid": 9, "ts": 12, "args": {"Bytes": -8, "Addr": 137877174353920, "Device Type": 1}},
 {"ph": "s", "id": 5, "pid": 9, "tid": 9, "ts": 2, "cat": "ac2g", "name": "ac2g"},
 {"ph": "M", "name": "thread_name", "pid": 9, "tid": 9, "args": {"name": "main"}}
 ], "baseTimeNanoseconds": 1711964646000000000, "displayTimeUnit": "ms"})json";

// Pieces that matter to a JSON reader or to the importer.
constexpr std::string_view kPieces[] = {"{",
                                        "}",
                                        "[",
                                        "]",
                                        "\"",
                                        "\\",
                                        ",",
                                        ":",
                                        "null",
                                        "NaN",
                                        "-inf",
                                        "1e99",
                                        "-1",
                                        "\"\"",
                                        "\\u12",
                                        "\\ud800",
                                        "18446744073709551615",
                                        "-9223372036854775808",
                                        "0.0004",
                                        "\xff\xfe",
                                        "\n",
                                        "[[[[",
                                        "}}}}",
                                        "\"ph\":\"E\",",
                                        "\"ph\":\"X\",",
                                        "\"ts\":",
                                        "\"dur\":-5,",
                                        "\"args\":{",
                                        "\"pid\":[1],",
                                        "\"tid\":{},",
                                        "\"traceEvents\":[",
                                        "\"ProfilerStep#99999999999999999999\"",
                                        "stream -1"};

std::string mutated(std::mt19937& random) {
  std::string text(kSound);
  for (size_t hits = 1 + random() % 6; hits > 0 && !text.empty(); --hits) {
    const size_t at = random() % text.size();
    const std::string_view piece = kPieces[random() % std::size(kPieces)];
    switch (random() % 6) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text.insert(at, piece);
        break;
      case 2:
        text.replace(at, std::min(piece.size(), text.size() - at), piece);
        break;
      case 3:
        text.erase(at, random() % 40);
        break;
      case 4:
        text.insert(at, text.substr(random() % text.size(), random() % 200));
        break;
      default:
        if (random() % 4 == 0) text.resize(at);
    }
  }
  return text;
}

TEST(KinetoFuzzTest, TheSoundFileIsRead) { EXPECT_EQ(feed(kSound), 0); }

TEST(KinetoFuzzTest, FilesThatAreAlmostRightDoNoHarm) {
  std::mt19937 random(70701);
  const auto from = std::chrono::steady_clock::now();
  for (int i = 0; i < 3000 && in_time(from); ++i) ASSERT_EQ(feed(mutated(random)), 0) << i;
}

TEST(KinetoFuzzTest, EveryCutDoesNoHarm) {
  const auto from = std::chrono::steady_clock::now();
  for (size_t length = 0; length < kSound.size() && in_time(from); length += 7)
    ASSERT_EQ(feed(kSound.substr(0, length)), 0) << length;
}

TEST(KinetoFuzzTest, NoiseDoesNoHarm) {
  std::mt19937 random(70702);
  const auto from = std::chrono::steady_clock::now();
  constexpr std::string_view kStarts[] = {"", "{", "[", "{\"traceEvents\":[", "\x1f\x8b\x08\0\0"};
  for (int i = 0; i < 1000 && in_time(from); ++i) {
    std::string text(kStarts[random() % std::size(kStarts)]);
    for (size_t bytes = random() % 400; bytes > 0; --bytes) text += static_cast<char>(random());
    ASSERT_EQ(feed(text), 0);
  }
}

}  // namespace
