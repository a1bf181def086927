// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <iterator>
#include <random>
#include <vector>

#include "collector/wire/record.h"
#include "tests/fuzz/in_time.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace dprof::recorder {
namespace {

using fuzz::in_time;
constexpr size_t kBeforeSlots = 32 + 256;  // what drain_fuzz.cpp takes for directory and arena

// Every kind that there is, those of one source beside each other, and one of no source.
constexpr uint16_t kKinds[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17,
                               18, 30, 31, 32, 33, 34, 35, 36, 37, 50, 51, 52, 53, 54, 55, 99};

std::vector<uint8_t> random_bytes(std::mt19937& random, size_t size) {
  std::vector<uint8_t> bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

// Records that are almost right get deeper than noise does.
std::vector<uint8_t> almost_right(std::mt19937& random, size_t slots) {
  std::vector<uint8_t> bytes = random_bytes(random, kBeforeSlots + slots * wire::kSlotBytes);
  for (size_t i = 0; i < slots; ++i) {
    wire::Record record{};
    uint8_t* place = bytes.data() + kBeforeSlots + i * wire::kSlotBytes;
    const bool noise = random() % 16 == 0;
    if (noise) continue;
    record.kind = static_cast<wire::Kind>(kKinds[random() % std::size(kKinds)]);
    record.slots = static_cast<uint8_t>(random() % 8 == 0 ? random() % 6 : 1);
    record.string = static_cast<uint32_t>(random() % 40);
    record.ticks = 1000 + i * 10 - random() % 30;
    uint8_t payload[wire::kPayloadBytes];
    // Small numbers: ids that meet again, enumerations that are in range, times that can be.
    const bool sparse = random() % 2 == 0;
    for (uint8_t& byte : payload) {
      byte = sparse && random() % 4 != 0 ? 0 : static_cast<uint8_t>(random() % 4);
    }
    std::memcpy(&record.empty, payload, sizeof payload);
    std::memcpy(place, &record, sizeof record);
  }
  return bytes;
}

TEST(DrainFuzzTest, NoiseDoesNoHarm) {
  std::mt19937 random(20260131);
  const auto from = std::chrono::steady_clock::now();
  for (int i = 0; i < 300 && in_time(from); ++i) {
    const std::vector<uint8_t> input = random_bytes(random, random() % 20000);
    ASSERT_EQ(LLVMFuzzerTestOneInput(input.data(), input.size()), 0);
  }
}

TEST(DrainFuzzTest, RecordsThatAreAlmostRightDoNoHarm) {
  std::mt19937 random(5246);
  const auto from = std::chrono::steady_clock::now();
  for (int i = 0; i < 600 && in_time(from); ++i) {
    const std::vector<uint8_t> input = almost_right(random, random() % 600);
    ASSERT_EQ(LLVMFuzzerTestOneInput(input.data(), input.size()), 0);
  }
}

// One source's records alone meet each other more often.
TEST(DrainFuzzTest, RecordsOfOneSourceDoNoHarm) {
  std::mt19937 random(9211);
  const auto from = std::chrono::steady_clock::now();
  for (int i = 0; i < 400 && in_time(from); ++i) {
    std::vector<uint8_t> input = almost_right(random, 400);
    const uint16_t first = i % 2 == 0 ? 10 : 30;
    for (size_t at = kBeforeSlots; at + wire::kSlotBytes <= input.size(); at += wire::kSlotBytes) {
      const auto kind = static_cast<uint16_t>(first + random() % 9);
      std::memcpy(input.data() + at + offsetof(wire::Record, kind), &kind, sizeof kind);
    }
    ASSERT_EQ(LLVMFuzzerTestOneInput(input.data(), input.size()), 0);
  }
}

TEST(DrainFuzzTest, NothingAtAllDoesNoHarm) { EXPECT_EQ(LLVMFuzzerTestOneInput(nullptr, 0), 0); }

}  // namespace
}  // namespace dprof::recorder
