// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "tests/fuzz/in_time.h"
#include "tests/support/paths.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using dprof::fuzz::in_time;

int feed(const std::string& bytes) {
  return LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

std::string sound() {
  std::ifstream file(
      dprof::test_support::source_dir() + "/tests/fuzz/corpus/nsys/two_processes.sqlite",
      std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(NsysFuzzTest, TheSoundFileIsRead) {
  const std::string bytes = sound();
  ASSERT_FALSE(bytes.empty());
  EXPECT_EQ(feed(bytes), 0);
}

// Odd times, ids and types in the tables; the pages around them are sound.
TEST(NsysFuzzTest, OddValuesDoNoHarm) {
  const std::string bytes = sound();
  std::mt19937 random(90701);
  const auto from = std::chrono::steady_clock::now();
  for (int i = 0; i < 2000 && in_time(from); ++i) {
    std::string odd = bytes;
    for (size_t hits = 1 + random() % 8; hits > 0; --hits) {
      const size_t at = 100 + random() % (odd.size() - 100);
      odd[at] = static_cast<char>(random() % 4 == 0 ? 0xFF : odd[at] ^ 1 << random() % 8);
    }
    ASSERT_EQ(feed(odd), 0) << i;
  }
}

TEST(NsysFuzzTest, EveryCutDoesNoHarm) {
  const std::string bytes = sound();
  const auto from = std::chrono::steady_clock::now();
  for (size_t length = 0; length < bytes.size() && in_time(from); length += 997)
    ASSERT_EQ(feed(bytes.substr(0, length)), 0) << length;
}

}  // namespace
