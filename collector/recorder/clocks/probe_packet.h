// SPDX-License-Identifier: Apache-2.0
// What recorders say to each other over UDP, as bytes: clock probes, and meeting by --meet. Fields
// are little-endian; each packet ends with a SipHash-2-4 of all before, under a key that only the
// recorders of the run know. Everything that arrives is untrusted until its hash is right.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dprof::recorder {

using PeerKey = std::array<uint64_t, 2>;

// SipHash-2-4 (Aumasson, Bernstein 2012): a keyed hash that is hard to forge without the key.
[[nodiscard]] uint64_t siphash(const PeerKey& key, std::span<const uint8_t> bytes);

// A key made of a secret text; `purpose` keeps keys of one secret apart.
[[nodiscard]] PeerKey derive_key(std::string_view secret, std::string_view purpose);

// Where a sender's sequence begins: an answer to an earlier sender is then no answer to this one.
[[nodiscard]] uint64_t random_sequence();

enum class PacketKind : uint8_t { kProbe = 1, kAnswer = 2, kMeet = 3, kWelcome = 4 };

// kProbe asks, kAnswer repeats the sequence and tells two times of the answering recorder's clock
// (clock_probe.peer_receive_ns, peer_reply_ns). Both have the same length, so that nobody can make
// a recorder send more than it is sent.
struct ProbePacket {
  PacketKind kind = PacketKind::kProbe;
  uint64_t sequence = 0;
  int64_t receive_ns = 0;
  int64_t reply_ns = 0;
};

// kMeet asks to take part in the run of whoever listens; kWelcome says which run that is. Neither
// carries a key. Texts that are too long are refused by encode().
struct MeetPacket {
  PacketKind kind = PacketKind::kMeet;
  uint64_t sequence = 0;
  std::string run_id;    // at most 64 bytes
  std::string clock_id;  // at most 192 bytes
};

inline constexpr size_t kProbeBytes = 40;
inline constexpr size_t kMeetBytes = 280;

[[nodiscard]] std::array<uint8_t, kProbeBytes> encode(const ProbePacket& packet,
                                                      const PeerKey& key);
// Empty: a text is too long.
[[nodiscard]] std::vector<uint8_t> encode(const MeetPacket& packet, const PeerKey& key);

// Nothing for whatever is not whole, of another version, or not hashed with `key`.
[[nodiscard]] std::optional<ProbePacket> decode_probe(std::span<const uint8_t> bytes_untrusted,
                                                      const PeerKey& key);
[[nodiscard]] std::optional<MeetPacket> decode_meet(std::span<const uint8_t> bytes_untrusted,
                                                    const PeerKey& key);

}  // namespace dprof::recorder
