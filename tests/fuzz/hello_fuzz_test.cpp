// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "collector/wire/hello.h"
#include "tests/fuzz/in_time.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace dprof::recorder {
namespace {

using fuzz::in_time;

std::vector<uint8_t> random_bytes(std::mt19937& random, size_t size) {
  std::vector<uint8_t> bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

// A hello whose head is right, as a rule, with variables that launchers set to values that they do
// not.
std::vector<uint8_t> almost_right(std::mt19937& random) {
  constexpr const char* kNames[] = {"RANK",
                                    "WORLD_SIZE",
                                    "LOCAL_RANK",
                                    "LOCAL_WORLD_SIZE",
                                    "GROUP_RANK",
                                    "TORCHELASTIC_RESTART_COUNT",
                                    "TORCHELASTIC_RUN_ID",
                                    "OMPI_COMM_WORLD_RANK",
                                    "OMPI_COMM_WORLD_SIZE",
                                    "PMI_RANK",
                                    "SLURM_PROCID",
                                    "PMIX_RANK",
                                    "DPROF_RANK",
                                    "cmdline",
                                    "error",
                                    "",
                                    "="};
  constexpr const char* kValues[] = {
      "0",          "1",        "-1",  "2147483647", "99999999999999999999",
      "1048576",    "",         " 1",  "1 ",         "0x1",
      "4294967296", "\xff\xfe", "a=b", "\x1b[2J",    "\xed\xa0\x80"};
  std::string text;
  for (size_t i = random() % 12; i > 0; --i) {
    text += kNames[random() % std::size(kNames)];
    if (random() % 8 != 0) text += '=';
    text += kValues[random() % std::size(kValues)];
    if (random() % 10 != 0) text += '\0';
  }
  wire::Hello hello{};
  hello.magic = random() % 50 == 0 ? random() : wire::kMagic;
  hello.wire_version = random() % 20 == 0 ? static_cast<uint32_t>(random()) : wire::kWireVersion;
  hello.pid = static_cast<int32_t>(random());
  hello.error_number = static_cast<int32_t>(random() % 200);
  hello.text_bytes =
      random() % 10 == 0 ? static_cast<uint32_t>(random()) : static_cast<uint32_t>(text.size());
  std::vector<uint8_t> bytes(sizeof hello + text.size());
  std::memcpy(bytes.data(), &hello, sizeof hello);
  std::memcpy(bytes.data() + sizeof hello, text.data(), text.size());
  if (random() % 10 == 0) bytes.resize(random() % (bytes.size() + 1));
  return bytes;
}

TEST(HelloFuzzTest, NoiseDoesNoHarm) {
  std::mt19937 random(60601);
  const auto from = std::chrono::steady_clock::now();
  for (int i = 0; i < 20'000 && in_time(from); ++i) {
    const std::vector<uint8_t> input = random_bytes(random, random() % 300);
    ASSERT_EQ(LLVMFuzzerTestOneInput(input.data(), input.size()), 0);
  }
}

TEST(HelloFuzzTest, HellosThatAreAlmostRightDoNoHarm) {
  std::mt19937 random(60602);
  const auto from = std::chrono::steady_clock::now();
  for (int i = 0; i < 50'000 && in_time(from); ++i) {
    const std::vector<uint8_t> input = almost_right(random);
    ASSERT_EQ(LLVMFuzzerTestOneInput(input.data(), input.size()), 0);
  }
}

TEST(HelloFuzzTest, NothingAtAllDoesNoHarm) { EXPECT_EQ(LLVMFuzzerTestOneInput(nullptr, 0), 0); }

}  // namespace
}  // namespace dprof::recorder
