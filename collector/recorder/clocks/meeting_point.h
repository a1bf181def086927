// SPDX-License-Identifier: Apache-2.0
// `--meet HOST:PORT`: how recorders without a shared run folder join one run. The recorder on the
// address's host listens there; the others ask it for the run's id.
//
// All of them have the same secret, from a file (--meet-key-file). It is never sent: questions and
// answers are hashed under a key derived from it and the job's identity, and probes under one
// derived from it and the run's id. The asking side accepts an answer only from the address that it
// asked, and only to its own question; the listener answers each question once.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "collector/recorder/clocks/probe_packet.h"
#include "collector/recorder/clocks/udp.h"
#include "collector/recorder/ranks/job.h"

namespace dprof::recorder {

// The secret in a file that only this user can read; at least 16 bytes, without surrounding white
// space. kUsage names the problem and a command that creates a key.
Result<std::string> read_meet_secret(const std::filesystem::path& file);

// Threading  one thread.
class MeetingPoint {
 public:
  static Result<MeetingPoint> open(const std::string& where, const std::string& secret,
                                   const Job& job);

  [[nodiscard]] bool listens() const { return listens_; }
  // Asks repeatedly until an answer comes; only if this recorder does not listen.
  [[nodiscard]] std::optional<MeetPacket> ask(std::chrono::milliseconds at_most) const;

  [[nodiscard]] const Address& address() const { return address_; }
  [[nodiscard]] const PeerKey& key() const { return key_; }
  // The key for the probes of a run whose recorders meet here.
  [[nodiscard]] PeerKey probe_key(const std::string& run_id) const {
    return derive_key(secret_ + '\0' + run_id, "probe of a met run");
  }
  // The bound socket, for the code that answers from now on.
  Descriptor take_socket() { return std::move(socket_); }

 private:
  Address address_;
  std::string secret_;
  PeerKey key_{};
  Descriptor socket_;
  bool listens_ = false;
};

}  // namespace dprof::recorder
