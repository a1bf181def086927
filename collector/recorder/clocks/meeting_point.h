// SPDX-License-Identifier: Apache-2.0
// `--meet HOST:PORT`: how recorders that share no run folder come to one run. The one whose host
// has the address listens there; the others ask it for the run's id and for the key of its probes.
//
// The questions and answers are hashed under the job's identity, which keeps other jobs apart and
// garbage out. It is no secret: whoever knows it can read the run's id and probe a clock, and
// nothing else; `dprof ctl` has another key.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/result.h"
#include "collector/recorder/clocks/probe_packet.h"
#include "collector/recorder/clocks/udp.h"
#include "collector/recorder/ranks/job.h"

namespace dprof::recorder {

// Threading  one thread.
class MeetingPoint {
 public:
  static Result<MeetingPoint> open(const std::string& where, const Job& job);

  [[nodiscard]] bool listens() const { return listens_; }
  // Asks again and again until somebody answers; only where nobody listens here.
  [[nodiscard]] std::optional<MeetPacket> ask(std::chrono::milliseconds at_most) const;

  [[nodiscard]] const Address& address() const { return address_; }
  [[nodiscard]] const PeerKey& key() const { return key_; }
  // The bound socket, for whoever answers from now on.
  Descriptor take_socket() { return std::move(socket_); }

 private:
  Address address_;
  PeerKey key_{};
  Descriptor socket_;
  bool listens_ = false;
};

}  // namespace dprof::recorder
