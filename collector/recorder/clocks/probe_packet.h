// SPDX-License-Identifier: Apache-2.0
// The recorders' UDP packets: clock probes, and meeting by --meet. Fields are little-endian; each
// packet ends with a SipHash-2-4 of all before, under a key that only the recorders of the run
// know. All input is untrusted until its hash is verified.
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

// A key derived from a secret text; `purpose` separates keys of one secret.
[[nodiscard]] PeerKey derive_key(std::string_view secret, std::string_view purpose);

// The start of a sender's sequence: answers to an earlier sender do not match this one.
[[nodiscard]] uint64_t random_sequence();

enum class PacketKind : uint8_t { kProbe = 1, kAnswer = 2, kMeet = 3, kWelcome = 4 };

// kProbe asks, kAnswer repeats the sequence and gives two times of the answering recorder's clock
// (clock_probe.peer_receive_ns, peer_reply_ns). Both have the same length, so that a recorder
// cannot be made to send more than it receives.
struct ProbePacket {
  PacketKind kind = PacketKind::kProbe;
  uint64_t sequence = 0;
  int64_t receive_ns = 0;
  int64_t reply_ns = 0;
};

// kMeet asks the listener to join its run; kWelcome names that run. Neither carries a key. encode()
// refuses texts that are too long.
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

// Empty for a packet that is incomplete, of another version, or not hashed with `key`.
[[nodiscard]] std::optional<ProbePacket> decode_probe(std::span<const uint8_t> bytes_untrusted,
                                                      const PeerKey& key);
[[nodiscard]] std::optional<MeetPacket> decode_meet(std::span<const uint8_t> bytes_untrusted,
                                                    const PeerKey& key);

}  // namespace dprof::recorder
