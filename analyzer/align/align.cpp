// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/align.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analyzer/align/clock_graph.h"
#include "analyzer/align/device_clock.h"
#include "analyzer/align/meetings.h"
#include "schema/trace_reader.h"

namespace dprof::analyzer {
namespace {

constexpr int kCollectiveRounds = 4;  // rounds of agreeing on when a collective ended
constexpr int64_t kMarginNs = 5 * kNsPerSecond;
constexpr int64_t kMostOffsetNs = int64_t{1} << 60;  // a damaged trace can contain any time

enum class Method : uint8_t { kNone, kSame, kProbes, kCollectives, kBoth };

std::string word_of(Method method) {
  switch (method) {
    case Method::kSame:
      return "same clock";
    case Method::kProbes:
      return "probes";
    case Method::kCollectives:
      return "collectives";
    case Method::kBoth:
      return "probes and collectives";
    case Method::kNone:
      break;
  }
  return "none";
}

// A clock that has traces, or that was only probed.
struct HostState {
  std::string host;
  Interval span;  // of its digests, in its own time
  std::optional<int64_t> origin_raw_ns;
  std::optional<ClockMap> map;  // to the axis
  Method method = Method::kNone;
  double drift = 0;
  int64_t resets = 0;
  std::optional<int64_t> likely_ns;
  int64_t probes = 0;
};

class Aligner {
 public:
  Aligner(std::span<const TraceFile> traces, std::span<const RankDigest> digests,
          const Matching& matching, std::span<const ClockWitness> witnesses)
      : traces_(traces), digests_(digests), matching_(matching), witnesses_(witnesses) {}

  Alignment run() {
    find_clocks();
    if (clocks_.empty()) return std::move(result_);
    clocks_[0].map.emplace();
    clocks_[0].method = Method::kSame;
    const Meetings meetings(digests_, matching_, result_.clock_of);
    if (clocks_.size() > 1) {
      place_by_probes();
      place_by_collectives(meetings);
      tighten_by_collectives(meetings);
    }
    check(meetings);
    fill_maps();
    fill_hosts();
    result_.clock.devices = device_clocks(digests_);
    note();
    return std::move(result_);
  }

 private:
  size_t clock_at(const std::string& id, const std::string& host) {
    const auto [entry, is_new] = index_of_.try_emplace(id, clocks_.size());
    if (is_new) {
      clocks_.emplace_back();
      clocks_.back().host = host;
    }
    return entry->second;
  }

  void find_clocks() {
    std::map<std::string, int> with_name;
    for (size_t d = 0; d < digests_.size(); ++d) {
      const TraceFile& trace = traces_[d];
      const size_t known = clocks_.size();
      const size_t clock = clock_at(trace.clock_id, trace.host);
      HostState& state = clocks_[clock];
      if (clocks_.size() > known) {
        if (state.host.empty()) state.host = fmt::format("host of rank {}", trace.rank);
        const int number = ++with_name[state.host];
        if (number > 1) state.host = fmt::format("{} ({})", state.host, number);
      }
      result_.clock_of.push_back(clock);
      result_.recorder_of.push_back(trace.shift_ns);
      const Interval& span = digests_[d].span;
      state.span = state.span.empty() ? span
                                      : Interval{std::min(state.span.begin, span.begin),
                                                 std::max(state.span.end, span.end)};
      if (!state.origin_raw_ns) state.origin_raw_ns = digests_[d].clock.origin_raw_ns;
    }
    traced_ = clocks_.size();
    for (const ClockWitness& witness : witnesses_) {
      HostState& state = clocks_[clock_at(witness.clock_id, "")];
      if (!state.origin_raw_ns) state.origin_raw_ns = witness.evidence.origin_raw_ns;
    }
    find_recorder_bounds();
  }

  // Recorders that share a clock each read it when they start.
  void find_recorder_bounds() {
    for (size_t d = 0; d < digests_.size(); ++d) {
      int64_t bound = 0;
      for (size_t other = 0; other < digests_.size(); ++other) {
        const bool same_clock = result_.clock_of[other] == result_.clock_of[d];
        if (!same_clock || result_.recorder_of[other] == result_.recorder_of[d]) continue;
        const ClockEvidence& own = digests_[d].clock;
        const std::optional<double>& rate = digests_[other].clock.ticks_per_second;
        double drift = 0;
        if (own.ticks_per_second && rate) drift = std::abs(*own.ticks_per_second / *rate - 1);
        const double length =
            static_cast<double>((digests_[d].span.end - digests_[d].span.begin).ns);
        bound = std::max(bound, own.origin_width_ns / 2 + 1 + static_cast<int64_t>(drift * length));
      }
      result_.recorder_bound_ns.push_back(bound);
    }
  }

  // --- probes ---

  struct Pair {
    Cloud cloud;
    int64_t probes = 0;
  };

  void gather(size_t own, const ClockEvidence& evidence) {
    result_damaged_ += evidence.damaged;
    for (const ClockProbe& probe : evidence.probes) {
      const size_t peer = clock_at(evidence.peers[static_cast<size_t>(probe.peer)], "");
      if (peer == own) continue;
      // A clock without a trace has no origin: any value will do.
      std::optional<int64_t>& origin = clocks_[peer].origin_raw_ns;
      if (!origin) origin = probe.peer_receive_raw_ns - probe.send.ns;
      const TraceNs there{probe.peer_receive_raw_ns - *origin};
      const TraceNs reply{probe.peer_reply_raw_ns - *origin};
      Pair& pair = pairs_[{std::max(own, peer), std::min(own, peer)}];
      ++pair.probes;
      if (own > peer) {
        pair.cloud.at_least(probe.send, (probe.send - there).ns);
        pair.cloud.at_most(probe.receive, (probe.receive - reply).ns);
      } else {
        pair.cloud.at_least(reply, (reply - probe.receive).ns);
        pair.cloud.at_most(there, (there - probe.send).ns);
      }
    }
  }

  // The run's span by any clock whose offset is at most that of the cloud.
  [[nodiscard]] Interval covers(const Cloud& cloud) const {
    Interval all = clocks_[0].span;
    for (const HostState& clock : clocks_) {
      if (clock.span.empty()) continue;
      all = {std::min(all.begin, clock.span.begin), std::max(all.end, clock.span.end)};
    }
    const DurationNs margin{kMarginNs + 2 * std::min(std::abs(cloud.offset_of(0)), kMostOffsetNs)};
    return {all.begin - margin, all.end + margin};
  }

  void place_by_probes() {
    for (size_t d = 0; d < digests_.size(); ++d) gather(result_.clock_of[d], digests_[d].clock);
    for (const ClockWitness& witness : witnesses_)
      gather(index_of_.at(witness.clock_id), witness.evidence);
    std::vector<ClockEdge> edges;
    for (auto& [between, pair] : pairs_) {
      const Interval covered = covers(pair.cloud);
      std::optional<OffsetFit> fit = fit_offset(std::move(pair.cloud), covered);
      if (!fit) continue;
      contradicting_ += fit->contradicting;
      edges.push_back({between.first, between.second, *std::move(fit), pair.probes});
    }
    ClockGraph graph = place_clocks(clocks_.size(), 0, edges, clocks_[0].span);
    contradicting_edges_ = graph.contradicting_edges;
    for (size_t c = 1; c < clocks_.size(); ++c) {
      if (!graph.clocks[c]) continue;
      PlacedClock& placed = *graph.clocks[c];
      clocks_[c].map = std::move(placed.map);
      clocks_[c].method = Method::kProbes;
      clocks_[c].drift = placed.drift;
      clocks_[c].resets = placed.resets;
      clocks_[c].likely_ns = placed.likely_ns;
      clocks_[c].probes = placed.probes;
    }
  }

  // --- collectives ---

  [[nodiscard]] ClockMaps maps() const {
    ClockMaps maps;
    for (const HostState& clock : clocks_) maps.push_back(clock.map);
    return maps;
  }

  // Spreads from the known clocks to those that meet them, and onwards.
  void place_by_collectives(const Meetings& meetings) {
    std::vector<bool> placed(clocks_.size());
    for (size_t depth = 0; depth < clocks_.size(); ++depth) {
      const ClockMaps known = maps();
      const std::vector<bool> wanted = reachable(meetings, known);
      if (std::ranges::none_of(wanted, [](bool w) { return w; })) break;
      const bool any = fit_to(clouds_of(meetings, known, known, wanted));
      if (!any) break;
      for (int round = 0; round < kCollectiveRounds; ++round)
        fit_to(clouds_of(meetings, known, maps(), wanted));
    }
  }

  bool fit_to(std::vector<Cloud> clouds) {
    bool any = false;
    for (size_t c = 0; c < clouds.size(); ++c) {
      if (clouds[c].empty()) continue;
      const Interval covered = covers(clouds[c]);
      std::optional<OffsetFit> fit = fit_offset(std::move(clouds[c]), covered);
      if (!fit) continue;
      any = true;
      clocks_[c].map = std::move(fit->map);
      clocks_[c].method = Method::kCollectives;
      clocks_[c].drift = fit->drift;
      clocks_[c].resets = fit->resets;
      clocks_[c].likely_ns = fit->likely_ns;
    }
    return any;
  }

  // Collectives seen by the reference can bound a clock better than its probes.
  void tighten_by_collectives(const Meetings& meetings) {
    ClockMaps known(clocks_.size());
    known[0].emplace();
    std::vector<bool> wanted(clocks_.size());
    for (size_t c = 0; c < clocks_.size(); ++c) wanted[c] = clocks_[c].method == Method::kProbes;
    if (std::ranges::none_of(wanted, [](bool w) { return w; })) return;
    std::vector<Cloud> clouds = clouds_of(meetings, known, known, wanted);
    for (size_t c = 0; c < clocks_.size(); ++c) {
      if (!wanted[c] || clouds[c].empty()) continue;
      clouds[c].sort();
      if (tighten(*clocks_[c].map, clouds[c])) clocks_[c].method = Method::kBoth;
    }
  }

  // --- results ---

  void check(const Meetings& meetings) {
    const Violations violations = violations_of(meetings, maps());
    result_.clock.violations = violations.count;
    result_.clock.checked = violations.checked;
  }

  void fill_maps() {
    for (const size_t clock : result_.clock_of) {
      const HostState& state = clocks_[clock];
      // Unknown: placed by the wall clocks, without a bound.
      result_.maps.push_back(
          state.map.value_or(ClockMap({{.local = state.span.begin, .bound_ns = std::nullopt}})));
    }
  }

  void fill_hosts() {
    result_.clock.reference = clocks_[0].host;
    for (size_t c = 0; c < traced_; ++c) {
      const HostState& state = clocks_[c];
      HostClock host;
      host.host = state.host;
      host.method = word_of(state.method);
      host.probes = state.probes;
      host.resets = state.resets;
      host.likely_ns = state.likely_ns;
      host.drift_ppb = static_cast<int64_t>(std::llround(state.drift * 1e9));
      if (state.map) {
        const TraceNs middle{state.span.begin.ns + (state.span.end - state.span.begin).ns / 2};
        host.offset_ns = state.map->offset_at(middle);
        host.at_ns = state.map->to_axis(middle).ns;
        host.bound_ns = largest_bound(*state.map, state.span);
      }
      result_.aligned = result_.aligned && host.bound_ns.has_value();
      result_.clock.hosts.push_back(std::move(host));
    }
  }

  static std::optional<int64_t> largest_bound(const ClockMap& map, const Interval& span) {
    const std::optional<int64_t> begin = map.bound_at(span.begin);
    const std::optional<int64_t> end = map.bound_at(span.end);
    if (!begin || !end) return std::nullopt;
    int64_t largest = std::max(*begin, *end);
    for (const ClockMap::Knot& knot : map.knots()) {
      if (knot.local < span.begin || knot.local > span.end) continue;
      if (!knot.bound_ns) return std::nullopt;
      largest = std::max(largest, *knot.bound_ns);
    }
    return largest;
  }

  void say(std::string_view code, int64_t count, std::string text) {
    result_.diagnostics.push_back(make_diagnostic(code, std::move(text), count));
  }

  void note() {
    std::vector<std::string> unknown;
    for (const HostClock& host : result_.clock.hosts) {
      if (!host.bound_ns) unknown.push_back(host.host);
      if (host.resets == 0) continue;
      say("clock_reset", host.resets,
          fmt::format(
              "{}: its clock jumped {} time{} against {}'s; times near that are known less well",
              host.host, host.resets, host.resets == 1 ? "" : "s", result_.clock.reference));
    }
    if (!unknown.empty()) {
      const auto shown = std::span(unknown).first(std::min<size_t>(unknown.size(), 8));
      say("unaligned_clocks", static_cast<int64_t>(unknown.size()),
          fmt::format(
              "{}{}: neither probes nor collectives tie {} to {}; these ranks are compared by durations only",
              fmt::join(shown, ", "), unknown.size() > shown.size() ? ", …" : "",
              unknown.size() == 1 ? "its clock" : "their clocks", result_.clock.reference));
    }
    const int64_t doubtful = result_damaged_ + contradicting_;
    if (doubtful > 0) {
      say("doubtful_clock_evidence", doubtful,
          fmt::format(
              "{} rows with times that cannot be, {} bursts of probes or collectives that contradict those around them",
              result_damaged_, contradicting_));
    }
    if (contradicting_edges_ > 0) {
      say("asymmetric_path", contradicting_edges_,
          fmt::format("{} pair{} of hosts", contradicting_edges_,
                      contradicting_edges_ == 1 ? "" : "s"));
    }
    if (result_.clock.violations > 0) {
      say("clock_violations", result_.clock.violations,
          fmt::format("{} of {} collectives", result_.clock.violations, result_.clock.checked));
    }
    for (const DeviceClock& device : result_.clock.devices) {
      if (device.reliable) continue;
      say("device_clock", 1,
          fmt::format("rank {}, GPU {}: {} of {} kernels begin before their launch{}", device.rank,
                      device.device, device.before_launch, device.kernels,
                      device.residual_ns ? fmt::format("; clock pairs miss their line by {} ns",
                                                       *device.residual_ns)
                                         : ""));
    }
  }

  const std::span<const TraceFile> traces_;
  const std::span<const RankDigest> digests_;
  const Matching& matching_;
  const std::span<const ClockWitness> witnesses_;
  Alignment result_;
  std::vector<HostState> clocks_;  // those with traces first; 0 = the reference
  size_t traced_ = 0;
  std::map<std::string, size_t> index_of_;
  std::map<std::pair<size_t, size_t>, Pair> pairs_;
  int64_t result_damaged_ = 0;
  int64_t contradicting_ = 0;
  int64_t contradicting_edges_ = 0;
};

}  // namespace

std::vector<ClockWitness> clock_witnesses(const Run& run, std::span<const TraceFile> analysed) {
  std::vector<ClockWitness> witnesses;
  const auto ask = [&](const TraceFile& trace) {
    const Result<schema::TraceReader> reader = schema::TraceReader::open(trace.path);
    if (!reader.ok()) return;
    Result<ClockEvidence> evidence = read_clock_evidence(*reader, trace.shift_ns);
    if (evidence.ok() && !evidence->probes.empty())
      witnesses.push_back({trace.clock_id, *std::move(evidence)});
  };
  for (const TraceFile& trace : run.others) ask(trace);
  for (const TraceFile& trace : run.traces) {
    if (std::ranges::count(analysed, trace.rank, &TraceFile::rank) == 0) ask(trace);
  }
  return witnesses;
}

Alignment align_clocks(std::span<const TraceFile> traces, std::span<const RankDigest> digests,
                       const Matching& matching, std::span<const ClockWitness> witnesses) {
  return Aligner(traces, digests, matching, witnesses).run();
}

}  // namespace dprof::analyzer
