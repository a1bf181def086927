// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/clock_evidence.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

namespace dprof::analyzer {
namespace {

// Times beyond this are implausible, and sums of a few could overflow.
constexpr int64_t kEvidenceTimeLimit = int64_t{1} << 59;
constexpr int64_t kWidestNs = 10 * kNsPerSecond;  // a slower reading is useless

constexpr int64_t kRealtimeLimit = int64_t{1} << 62;  // counts from 1970

bool sensible_evidence(int64_t time) {
  return time > -kEvidenceTimeLimit && time < kEvidenceTimeLimit;
}

class EvidenceReader {
 public:
  EvidenceReader(const schema::TraceReader& reader, int64_t shift_ns)
      : reader_(reader), shift_ns_(shift_ns) {}

  Result<ClockEvidence> read() {
    read_meta();
    for (const auto table : {&EvidenceReader::read_samples, &EvidenceReader::read_probes}) {
      if (const Status good = (this->*table)(); !good.ok()) return fail(good.error());
    }
    std::ranges::stable_sort(evidence_.probes, {}, &ClockProbe::send);
    std::ranges::stable_sort(evidence_.samples, {}, &ClockSample::at);
    std::ranges::stable_sort(evidence_.devices, {}, [](const DevicePair& pair) {
      return std::pair(pair.device, pair.at);
    });
    return std::move(evidence_);
  }

 private:
  void read_meta() {
    const std::optional<int64_t> origin = reader_.meta_int("origin_monotonic_raw_ns");
    if (origin && sensible_evidence(*origin) && sensible_evidence(shift_ns_))
      evidence_.origin_raw_ns = *origin - shift_ns_;
    const std::optional<std::string> rate = reader_.meta("ticks_per_second");
    if (!rate) return;
    const double value = std::strtod(rate->c_str(), nullptr);
    if (std::isfinite(value) && value > 0) evidence_.ticks_per_second = value;
  }

  Status read_samples() {
    bool is_first = true;
    return reader_.for_each<schema::ClockSampleRow>([&](const schema::ClockSampleRow& row) {
      const bool good = row.realtime_ns > -kRealtimeLimit && row.realtime_ns < kRealtimeLimit &&
                        sensible_evidence(row.monotonic_raw_ns) && row.width_ns >= 0 &&
                        row.width_ns <= kWidestNs &&
                        (!row.device_id || (row.device_ns && sensible_evidence(*row.device_ns)));
      if (!good) {
        ++evidence_.damaged;
        return;
      }
      if (!row.device_id && is_first) evidence_.origin_width_ns = row.width_ns;
      is_first = is_first && row.device_id.has_value();
      if (!evidence_.origin_raw_ns) return;
      const TraceNs at{row.monotonic_raw_ns - *evidence_.origin_raw_ns};
      if (row.device_id) {
        evidence_.devices.push_back({*row.device_id, at, *row.device_ns, row.width_ns});
      } else {
        evidence_.samples.push_back({at, row.realtime_ns, row.width_ns});
      }
    });
  }

  Status read_probes() {
    return reader_.for_each<schema::ClockProbeRow>([&](const schema::ClockProbeRow& row) {
      const bool good = sensible_evidence(row.send_ns) && sensible_evidence(row.receive_ns) &&
                        sensible_evidence(row.peer_receive_ns) &&
                        sensible_evidence(row.peer_reply_ns) && row.send_ns <= row.receive_ns &&
                        row.peer_receive_ns <= row.peer_reply_ns && !row.peer.empty() &&
                        sensible_evidence(shift_ns_);
      // The answer took longer than the whole round trip: a clock was set meanwhile.
      const bool possible = good && row.peer_reply_ns - row.peer_receive_ns <=
                                        row.receive_ns - row.send_ns + kNsPerMs;
      if (!possible) {
        ++evidence_.damaged;
        return;
      }
      const auto [peer, is_new] =
          peers_.try_emplace(row.peer, static_cast<int32_t>(evidence_.peers.size()));
      if (is_new) evidence_.peers.push_back(row.peer);
      evidence_.probes.push_back({peer->second,
                                  {row.send_ns + shift_ns_},
                                  row.peer_receive_ns,
                                  row.peer_reply_ns,
                                  {row.receive_ns + shift_ns_}});
    });
  }

  const schema::TraceReader& reader_;
  const int64_t shift_ns_;
  ClockEvidence evidence_;
  std::map<std::string, int32_t> peers_;
};

}  // namespace

Result<ClockEvidence> read_clock_evidence(const schema::TraceReader& reader, int64_t shift_ns) {
  return EvidenceReader(reader, shift_ns).read();
}

}  // namespace dprof::analyzer
