// SPDX-License-Identifier: Apache-2.0
#include "synth/clocks/probes.h"

#include <cmath>

#include "synth/random.h"

namespace dprof::synth {
namespace {

constexpr int64_t kGiveUpNs = 50'000'000;
constexpr int64_t kAnswerNs = 8'000;  // between receiving a probe and answering it
constexpr int64_t kNextNs = 20'000;   // between an answer and the next probe
constexpr int64_t kSampleEveryNs = 1'000'000'000;
constexpr int64_t kTicksPerNs = 2;

int64_t one_way(const ProbeSpec& spec, uint64_t key, bool back) {
  double us = spec.one_way_us + std::abs(normal(key_of(key, 1))) * spec.jitter_us;
  if (uniform(key_of(key, 2)) >= spec.clean_share)
    us += exponential(key_of(key, 3)) * spec.queue_us;
  if (back) us += spec.asymmetry_us;
  return std::llround(us * 1e3);
}

}  // namespace

std::vector<schema::ClockProbeRow> probe_rows(const ProbeSpec& spec, uint64_t key,
                                              const HostClock& own, const HostClock& peer,
                                              const std::string& peer_clock_id, int64_t end_ns) {
  std::vector<schema::ClockProbeRow> rows;
  if (!spec.enabled) return rows;
  const auto interval = std::llround(spec.interval_s * 1e9);
  uint64_t number = 0;
  // The reference can have started later; earlier probes are not answered.
  int64_t burst = std::max(own.recorder_start(), peer.recorder_start());
  for (; burst < end_ns; burst += interval) {
    int64_t send = burst;
    for (int i = 0; i < spec.per_burst; ++i) {
      const uint64_t probe = key_of(key, ++number);
      const int64_t there = send + one_way(spec, key_of(probe, 1), false);
      const int64_t reply = there + kAnswerNs;
      const int64_t back = reply + one_way(spec, key_of(probe, 2), true);
      const bool lost = uniform(key_of(probe, 3)) < spec.lost_share || back - send > kGiveUpNs;
      if (!lost) {
        rows.push_back({.id = static_cast<int64_t>(rows.size()) + 1,
                        .peer = peer_clock_id,
                        .send_ns = own.trace(send),
                        .peer_receive_ns = peer.monotonic_raw(there),
                        .peer_reply_ns = peer.monotonic_raw(reply),
                        .receive_ns = own.trace(back)});
      }
      send = lost ? send + kGiveUpNs : back + kNextNs;
    }
  }
  return rows;
}

std::vector<schema::ClockSampleRow> sample_rows(const HostClock& clock, uint64_t key,
                                                int64_t end_ns) {
  std::vector<schema::ClockSampleRow> rows;
  const auto add = [&](int64_t at) {
    const int64_t raw = clock.monotonic_raw(at);
    rows.push_back(
        {.id = static_cast<int64_t>(rows.size()) + 1,
         .ticks = raw * kTicksPerNs,
         .realtime_ns = clock.realtime(at),
         .monotonic_raw_ns = raw,
         .width_ns = 60 + static_cast<int64_t>(uniform(key_of(key, rows.size())) * 200)});
  };
  int64_t at = clock.recorder_start();
  for (; at < end_ns; at += kSampleEveryNs) add(at);
  add(end_ns);
  return rows;
}

}  // namespace dprof::synth
