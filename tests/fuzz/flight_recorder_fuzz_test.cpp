// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "analyzer/import/flight_recorder/dump.h"
#include "tests/fuzz/in_time.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace dprof::analyzer {
namespace {

using fuzz::in_time;

void give(const std::string& input) {
  ASSERT_EQ(LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size()),
            0);
}

// A text as a pickle has it.
std::string text(const std::string& value) {
  return std::string("X") + static_cast<char>(value.size()) + std::string(3, '\0') + value;
}

// Opcodes that are right, in an order that is not.
std::string random_pickle(std::mt19937& random) {
  static const std::vector<std::string> kPieces = {"}",
                                                   "]",
                                                   ")",
                                                   "(",
                                                   "t",
                                                   "l",
                                                   "d",
                                                   "e",
                                                   "u",
                                                   "a",
                                                   "s",
                                                   "0",
                                                   "1",
                                                   "N",
                                                   "\x88",
                                                   "\x89",
                                                   "\x85",
                                                   "\x86",
                                                   "\x87",
                                                   "\x94",
                                                   std::string("q\0", 2),
                                                   std::string("h\0", 2),
                                                   "q\x01",
                                                   "h\x01",
                                                   "K\x07",
                                                   "M\x01\x02",
                                                   std::string("J\xff\xff\xff\xff"),
                                                   std::string("\x8a\x01\x05"),
                                                   std::string("X\x07\0\0\0entries", 12),
                                                   std::string("X\x09\0\0\0pg_config", 14),
                                                   std::string("X\x0e\0\0\0profiling_name", 19),
                                                   std::string("X\x0f\0\0\0nccl:all_reduce", 20),
                                                   std::string("X\x0d\0\0\0process_group", 18),
                                                   std::string("X\x05\0\0\0ranks", 10),
                                                   std::string("X\x06\0\0\0[0, 1]", 11),
                                                   std::string("X\xff\xff\xff\xff", 5),
                                                   "c",
                                                   "R",
                                                   "\x93"};
  std::string body = "\x80\x02";
  for (size_t i = random() % 60; i > 0; --i) body += kPieces[random() % kPieces.size()];
  return body + ".";
}

std::string random_json(std::mt19937& random) {
  static const std::vector<std::string> kPieces = {"{",
                                                   "}",
                                                   "[",
                                                   "]",
                                                   ":",
                                                   ",",
                                                   "\"entries\":[",
                                                   "\"pg_config\":{",
                                                   "\"profiling_name\":",
                                                   "\"nccl:recv 3<-0\"",
                                                   "\"process_group\":[\"0\",\"x\"]",
                                                   "\"input_sizes\":[[",
                                                   "null",
                                                   "true",
                                                   "1e999",
                                                   "-9223372036854775808",
                                                   "18446744073709551615",
                                                   "\"ranks\":\"[0, 1]\"",
                                                   "\"time_created_ns\":",
                                                   "\"\\ud800\"",
                                                   "9223372036854775807"};
  std::string text = "{\"entries\":[{";
  for (size_t i = random() % 30; i > 0; --i) text += kPieces[random() % kPieces.size()];
  if (random() % 2 == 0) text += "}]}";
  return text;
}

TEST(FlightRecorderFuzzTest, NoiseDoesNoHarm) {
  std::mt19937 random(70101);
  const auto from = std::chrono::steady_clock::now();
  for (int i = 0; i < 20'000 && in_time(from); ++i) {
    std::string input = i % 2 == 0 ? "\x80\x02" : "";
    for (size_t n = random() % 200; n > 0; --n) input += static_cast<char>(random());
    give(input);
  }
}

TEST(FlightRecorderFuzzTest, AlmostRightPicklesDoNoHarm) {
  std::mt19937 random(70102);
  const auto from = std::chrono::steady_clock::now();
  for (int i = 0; i < 60'000 && in_time(from); ++i) give(random_pickle(random));
}

TEST(FlightRecorderFuzzTest, AlmostRightJsonDoesNoHarm) {
  std::mt19937 random(70103);
  const auto from = std::chrono::steady_clock::now();
  for (int i = 0; i < 40'000 && in_time(from); ++i) give(random_json(random));
}

// One byte of a good dump after the other becomes another one.
TEST(FlightRecorderFuzzTest, DamagedDumpsDoNoHarm) {
  // {"entries": [{"profiling_name": …, "process_group": "x", "input_sizes": [[2, 3]]}]}
  const std::string good = "\x80\x02}(" + text("entries") + "](}(" + text("profiling_name") +
                           text("nccl:all_reduce") + text("process_group") + text("x") +
                           text("input_sizes") + "](](K\x02K\x03" + "eeueu.";
  const Result<PlainData> data = read_pickle(good);
  ASSERT_TRUE(data.ok()) << data.error().what;
  ASSERT_EQ(flight_recorder::dump_of(*data)->entries.size(), 1U);
  give(good);
  for (size_t at = 0; at < good.size(); ++at) {
    for (const int value : {0, 1, 0x28, 0x7f, 0x80, 0xff}) {
      std::string damaged = good;
      damaged[at] = static_cast<char>(value);
      give(damaged);
    }
    give(good.substr(0, at));
  }
}

TEST(FlightRecorderFuzzTest, NothingAtAllDoesNoHarm) {
  EXPECT_EQ(LLVMFuzzerTestOneInput(nullptr, 0), 0);
}

}  // namespace
}  // namespace dprof::analyzer
