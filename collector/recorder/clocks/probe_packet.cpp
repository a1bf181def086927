// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/clocks/probe_packet.h"

#include <bit>
#include <cstring>
#include <random>

namespace dprof::recorder {
namespace {

constexpr uint32_t kMagic = 0x70727064;  // "dprp"
constexpr uint8_t kVersion = 2;

constexpr size_t kHeadBytes = 16;  // magic, version, kind, two of zero, sequence
constexpr size_t kHashBytes = 8;
constexpr size_t kRunIdBytes = 64;
constexpr size_t kClockIdBytes = 192;
static_assert(kProbeBytes == kHeadBytes + 2 * 8 + kHashBytes);
static_assert(kMeetBytes == kHeadBytes + kRunIdBytes + kClockIdBytes + kHashBytes);

uint64_t read_word(std::span<const uint8_t> bytes, size_t at) {
  uint64_t word = 0;
  for (size_t i = 0; i < 8; ++i) word |= uint64_t{bytes[at + i]} << (8 * i);
  return word;
}

void write_word(std::span<uint8_t> bytes, size_t at, uint64_t word) {
  for (size_t i = 0; i < 8; ++i) bytes[at + i] = static_cast<uint8_t>(word >> (8 * i));
}

void write_head(std::span<uint8_t> bytes, PacketKind kind, uint64_t sequence) {
  write_word(bytes, 0,
             kMagic | uint64_t{kVersion} << 32 | uint64_t{static_cast<uint8_t>(kind)} << 40);
  write_word(bytes, 8, sequence);
}

void seal(std::span<uint8_t> bytes, const PeerKey& key) {
  const size_t body = bytes.size() - kHashBytes;
  write_word(bytes, body, siphash(key, bytes.first(body)));
}

// The packet's kind, if it is one of the two and its length and hash are right.
std::optional<PacketKind> open_packet(std::span<const uint8_t> bytes, size_t length,
                                      PacketKind asked, PacketKind answered, const PeerKey& key) {
  if (bytes.size() != length) return std::nullopt;
  const uint64_t head = read_word(bytes, 0);
  const auto kind = static_cast<PacketKind>(head >> 40 & 0xff);
  if ((head & 0xff'ffff'ffff) != (kMagic | uint64_t{kVersion} << 32) || head >> 48 != 0) {
    return std::nullopt;
  }
  if (kind != asked && kind != answered) return std::nullopt;
  const size_t body = length - kHashBytes;
  if (read_word(bytes, body) != siphash(key, bytes.first(body))) return std::nullopt;
  return kind;
}

std::string text_at(std::span<const uint8_t> bytes, size_t at, size_t most) {
  const char* const begin = reinterpret_cast<const char*>(bytes.data()) + at;
  return {begin, strnlen(begin, most)};
}

struct SipState {
  uint64_t v0, v1, v2, v3;

  void round() {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }
  void take(uint64_t word) {
    v3 ^= word;
    round();
    round();
    v0 ^= word;
  }
};

}  // namespace

uint64_t siphash(const PeerKey& key, std::span<const uint8_t> bytes) {
  SipState state{key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d,
                 key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573};
  size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) state.take(read_word(bytes, at));
  uint64_t last = uint64_t{bytes.size() & 0xff} << 56;
  for (size_t i = 0; at + i < bytes.size(); ++i) last |= uint64_t{bytes[at + i]} << (8 * i);
  state.take(last);
  state.v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) state.round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

uint64_t random_sequence() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

PeerKey derive_key(std::string_view secret, std::string_view purpose) {
  std::string text(purpose);
  text += '\0';
  text += secret;
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  return {siphash({0, 1}, bytes), siphash({0, 2}, bytes)};
}

std::array<uint8_t, kProbeBytes> encode(const ProbePacket& packet, const PeerKey& key) {
  std::array<uint8_t, kProbeBytes> bytes{};
  write_head(bytes, packet.kind, packet.sequence);
  write_word(bytes, kHeadBytes, static_cast<uint64_t>(packet.receive_ns));
  write_word(bytes, kHeadBytes + 8, static_cast<uint64_t>(packet.reply_ns));
  seal(bytes, key);
  return bytes;
}

std::vector<uint8_t> encode(const MeetPacket& packet, const PeerKey& key) {
  if (packet.run_id.size() > kRunIdBytes || packet.clock_id.size() > kClockIdBytes) return {};
  std::vector<uint8_t> bytes(kMeetBytes);
  write_head(bytes, packet.kind, packet.sequence);
  size_t at = kHeadBytes;
  std::memcpy(&bytes[at], packet.run_id.data(), packet.run_id.size());
  at += kRunIdBytes;
  std::memcpy(&bytes[at], packet.clock_id.data(), packet.clock_id.size());
  seal(bytes, key);
  return bytes;
}

std::optional<ProbePacket> decode_probe(std::span<const uint8_t> bytes_untrusted,
                                        const PeerKey& key) {
  const auto kind =
      open_packet(bytes_untrusted, kProbeBytes, PacketKind::kProbe, PacketKind::kAnswer, key);
  if (!kind) return std::nullopt;
  return ProbePacket{*kind, read_word(bytes_untrusted, 8),
                     static_cast<int64_t>(read_word(bytes_untrusted, kHeadBytes)),
                     static_cast<int64_t>(read_word(bytes_untrusted, kHeadBytes + 8))};
}

std::optional<MeetPacket> decode_meet(std::span<const uint8_t> bytes_untrusted,
                                      const PeerKey& key) {
  const auto kind =
      open_packet(bytes_untrusted, kMeetBytes, PacketKind::kMeet, PacketKind::kWelcome, key);
  if (!kind) return std::nullopt;
  return MeetPacket{*kind, read_word(bytes_untrusted, 8),
                    text_at(bytes_untrusted, kHeadBytes, kRunIdBytes),
                    text_at(bytes_untrusted, kHeadBytes + kRunIdBytes, kClockIdBytes)};
}

}  // namespace dprof::recorder
