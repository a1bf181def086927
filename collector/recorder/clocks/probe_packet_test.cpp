// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/clocks/probe_packet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace dprof::recorder {
namespace {

constexpr PeerKey kKey = {0x0706050403020100, 0x0f0e0d0c0b0a0908};

TEST(SipHashTest, GivesThePublishedValues) {
  std::array<uint8_t, 15> bytes{};
  std::iota(bytes.begin(), bytes.end(), uint8_t{0});
  EXPECT_EQ(siphash(kKey, {}), 0x726fdb47dd0e0e31u);
  EXPECT_EQ(siphash(kKey, bytes), 0xa129ca6149be45e5u);  // the example in the paper
}

TEST(ProbePacketTest, ComesBackAsItWas) {
  const ProbePacket sent{PacketKind::kAnswer, UINT64_MAX - 1, INT64_MIN, INT64_MAX};
  const std::optional<ProbePacket> got = decode_probe(encode(sent, kKey), kKey);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->kind, sent.kind);
  EXPECT_EQ(got->sequence, sent.sequence);
  EXPECT_EQ(got->receive_ns, sent.receive_ns);
  EXPECT_EQ(got->reply_ns, sent.reply_ns);
}

TEST(ProbePacketTest, AnyChangedBitMakesItWorthless) {
  const auto good = encode(ProbePacket{PacketKind::kProbe, 7, 0, 0}, kKey);
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    auto bad = good;
    bad[bit / 8] = static_cast<uint8_t>(bad[bit / 8] ^ 1u << bit % 8);
    EXPECT_FALSE(decode_probe(bad, kKey)) << "bit " << bit;
  }
}

TEST(ProbePacketTest, AnotherKeyOrLengthOrGarbageIsRefused) {
  const auto good = encode(ProbePacket{PacketKind::kProbe, 7, 0, 0}, kKey);
  EXPECT_FALSE(decode_probe(good, {kKey[0], kKey[1] + 1}));
  EXPECT_FALSE(decode_probe(std::span(good).first(good.size() - 1), kKey));
  EXPECT_FALSE(decode_probe({}, kKey));
  std::mt19937_64 random(1);
  std::vector<uint8_t> garbage(kMeetBytes);
  for (int round = 0; round < 10'000; ++round) {
    std::ranges::generate(garbage, [&] { return static_cast<uint8_t>(random()); });
    EXPECT_FALSE(decode_probe(std::span(garbage).first(kProbeBytes), kKey));
    EXPECT_FALSE(decode_meet(garbage, kKey));
  }
}

TEST(MeetPacketTest, ComesBackAsItWas) {
  const MeetPacket sent{PacketKind::kWelcome, 3, std::string(64, 'r'),
                        "boot time:[4026531834] fake:1,-2"};
  const std::optional<MeetPacket> got = decode_meet(encode(sent, kKey), kKey);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->kind, sent.kind);
  EXPECT_EQ(got->sequence, 3u);
  EXPECT_EQ(got->run_id, sent.run_id);
  EXPECT_EQ(got->clock_id, sent.clock_id);
  EXPECT_FALSE(decode_probe(encode(sent, kKey), kKey)) << "not taken for a probe";
}

TEST(MeetPacketTest, TextsThatDoNotFitAreRefused) {
  EXPECT_TRUE(encode(MeetPacket{PacketKind::kMeet, 0, std::string(65, 'r'), ""}, kKey).empty());
  EXPECT_TRUE(encode(MeetPacket{PacketKind::kMeet, 0, "", std::string(193, 'c')}, kKey).empty());
}

TEST(DeriveKeyTest, KeepsPurposesAndSecretsApart) {
  EXPECT_EQ(derive_key("secret", "probe"), derive_key("secret", "probe"));
  EXPECT_NE(derive_key("secret", "probe"), derive_key("secret", "meet"));
  EXPECT_NE(derive_key("secret", "probe"), derive_key("other", "probe"));
}

}  // namespace
}  // namespace dprof::recorder
