// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/ranks/hello.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "collector/wire/hello.h"

namespace dprof::recorder {
namespace {

std::vector<unsigned char> packet(wire::Hello hello, std::string_view text) {
  std::vector<unsigned char> bytes(sizeof hello + text.size());
  std::memcpy(bytes.data(), &hello, sizeof hello);
  std::memcpy(bytes.data() + sizeof hello, text.data(), text.size());
  return bytes;
}

wire::Hello good_hello(size_t text_bytes) {
  return {.magic = wire::kMagic,
          .wire_version = wire::kWireVersion,
          .pid = 42,
          .error_number = 0,
          .text_bytes = static_cast<uint32_t>(text_bytes),
          .first_event_ticks = 7};
}

TEST(HelloTest, SaysWhoItIs) {
  constexpr std::string_view kText("RANK=1\0cmdline=python -c a\nb=1\0", 31);
  const Result<ParsedHello> hello = parse_hello(packet(good_hello(kText.size()), kText));
  ASSERT_TRUE(hello.ok()) << hello.error().what;
  EXPECT_EQ(hello->pid, 42);
  EXPECT_EQ(hello->first_event_ticks, 7u);
  EXPECT_EQ(hello->command, "python -c a\nb=1");
  EXPECT_EQ(hello->variables, (Variables{{"RANK", "1"}}));
}

TEST(HelloTest, TurnsAwayWhatMakesNoSense) {
  EXPECT_FALSE(parse_hello({}).ok());
  EXPECT_FALSE(parse_hello(packet(good_hello(100), "short")).ok()) << "more text than there is";
  wire::Hello foreign = good_hello(0);
  foreign.magic = 1;
  EXPECT_FALSE(parse_hello(packet(foreign, "")).ok());
}

TEST(HelloTest, ReadsNoTextOfAnotherVersion) {
  wire::Hello newer = good_hello(1 << 30);
  newer.wire_version = wire::kWireVersion + 1;
  const Result<ParsedHello> hello = parse_hello(packet(newer, "RANK=1"));
  ASSERT_TRUE(hello.ok());
  EXPECT_EQ(hello->wire_version, wire::kWireVersion + 1);
  EXPECT_TRUE(hello->variables.empty());
}

}  // namespace
}  // namespace dprof::recorder
