// SPDX-License-Identifier: Apache-2.0
// Clock probes between the recorders of a run: four timestamps each, over UDP, from which the
// analysis aligns the hosts' clocks (table clock_probe).
//
// The first recorder of the run is the reference; of each other host one recorder probes it, in
// bursts of 8, one burst a second from the first moment to the last: the schedule for which the
// accuracy in docs/analysis/clocks.md was measured. A burst is 16 packets of 40 bytes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "collector/recorder/clocks/meeting_point.h"
#include "collector/recorder/clocks/probe_packet.h"
#include "collector/recorder/clocks/udp.h"
#include "collector/recorder/common/clock.h"
#include "collector/recorder/run/recorder_file.h"
#include "schema/generated/rows.h"

namespace dprof::recorder {

// A recorder whose clock is probed.
struct PeerTarget {
  Address address;
  PeerKey key{};
  std::string clock_id;
};

// The key of a run's probes.
[[nodiscard]] PeerKey probe_key(const std::string& token);

// The recorder that `self` should probe, from those in a run folder: empty if `self` is on the
// reference's host, or not the first of its own. `lives` says whether a recorder is still alive.
[[nodiscard]] std::optional<RecorderFile> choose_reference(
    const std::vector<RecorderFile>& files, const RecorderFile& self,
    const std::function<bool(const RecorderFile&)>& lives);

// Threading  a separate thread answers, sends and receives, and does nothing else; the functions
//            are for one other thread.
class ClockPeers {
 public:
  // Opens a port and starts to answer. `self` supplies the token, the run's id and the clock's; its
  // address and port are filled in. Also answers at `meeting`, if that listens.
  static Result<std::unique_ptr<ClockPeers>> start(const RunClock& clock, RecorderFile& self,
                                                   std::optional<MeetingPoint> meeting);
  ~ClockPeers();

  // From now on probes this clock.
  void probe(const PeerTarget& target);
  // There is no target, or it has not answered for some seconds.
  [[nodiscard]] bool wants_target() const;
  // Sends one more burst now: the last one before a trace ends. Waits for it, at most 100 ms.
  void burst_now();

  // Measurements since the last call, on this recorder's trace axis.
  std::vector<schema::ClockProbeRow> take_probes();

  // Valid packets from other recorders so far, and packets that were not valid.
  [[nodiscard]] int64_t heard() const { return heard_.load(std::memory_order_relaxed); }
  // The thread has ended early: no more measurements.
  [[nodiscard]] bool failed() const { return failed_.load(std::memory_order_relaxed); }
  [[nodiscard]] int64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  using Steady = std::chrono::steady_clock;
  struct Outstanding {
    uint64_t sequence = 0;
    int64_t send_ns = 0;
    Steady::time_point give_up;
  };

  explicit ClockPeers(const RunClock& clock) : clock_(clock) {}
  void run_guarded();
  void run();
  void send_what_is_due();
  void take_packets(int socket);
  void answer(int socket, const Received& received, const ProbePacket& probe, const PeerKey& key,
              int64_t receive_ns);
  void welcome(int socket, const Received& received, const MeetPacket& question);
  void note_answer(const ProbePacket& packet, const Received& received, int64_t receive_ns);
  [[nodiscard]] Steady::time_point next_event() const;
  // On the axis sent to peers: CLOCK_MONOTONIC_RAW as this recorder converts ticks.
  [[nodiscard]] int64_t on_clock(int64_t trace_ns) const {
    return clock_.origin().monotonic_raw_ns + trace_ns;
  }

  const RunClock& clock_;
  std::string run_id_, clock_id_;
  PeerKey key_{}, meet_key_{}, met_probe_key_{};
  std::deque<uint64_t> answered_;  // questions of the meeting, the last ones
  Descriptor socket_, meet_socket_, wake_;

  // Owned by the thread.
  std::optional<PeerTarget> target_;
  std::optional<Outstanding> outstanding_;
  uint64_t next_sequence_ = 0;
  int left_in_burst_ = 0;
  Steady::time_point next_burst_{};

  mutable std::mutex mutex_;  // the following
  std::optional<PeerTarget> new_target_;
  std::vector<schema::ClockProbeRow> rows_;
  bool has_target_ = false;
  Steady::time_point last_answer_{};
  bool burst_asked_ = false;

  std::atomic<bool> stopping_{false}, failed_{false};
  std::atomic<int64_t> heard_{0}, refused_{0}, bursts_{0};
  std::thread thread_;
};

}  // namespace dprof::recorder
