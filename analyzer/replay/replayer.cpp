// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/replayer.h"

#include <algorithm>

#include "analyzer/replay/hidden_waits.h"
#include "analyzer/replay/run_graph.h"
#include "base/stats.h"

namespace dprof::analyzer {

struct Replayer::Impl {
  RunGraph run;
  std::vector<size_t> steps;
  std::vector<int64_t> recorded;
  Replay quality;
  std::optional<SharedLinks> links;
  std::vector<std::vector<size_t>> segments_of;  // by entry: of run.segments

  void judge() {
    quality.unit = "segments";
    quality.steps = static_cast<int64_t>(steps.size());
    quality.identity_error = identity_error(run.steps, recorded);
    quality.unexplained = unexplained_share(run.graph, run.steps);
    quality.accepted =
        quality.identity_error <= kRefusedError && quality.unexplained <= kMostUnexplained;
  }

  void index(size_t ranks) {
    segments_of.resize(ranks);
    for (size_t s = 0; s < run.segments.size(); ++s)
      segments_of[run.segments[s].entry].push_back(s);
  }

  // Own work at a place, before and after a stop: medians of the ranks that count. nullopt = none.
  struct Typical {
    int64_t before_ns = 0;
    int64_t after_ns = 0;
  };
  [[nodiscard]] std::optional<Typical> typical_at(const Place& place,
                                                  const std::vector<bool>& counts) const {
    const auto alike = static_cast<size_t>(std::ranges::count_if(
        run.alike[place.alike], [&](uint32_t entry) { return counts[entry]; }));
    if (alike == 0) return std::nullopt;
    std::vector<int64_t> before;
    std::vector<int64_t> after;
    for (const OwnSegment& segment : std::span(run.segments).subspan(place.first, place.count)) {
      if (counts[segment.entry]) (segment.stopped ? after : before).push_back(segment.own_ns);
    }
    before.resize(alike, 0);  // a rank without a segment did nothing there
    after.resize(alike, 0);
    return Typical{median_ns(std::move(before)), median_ns(std::move(after))};
  }

  // Distributed over the segment's tasks in the proportions of its own work.
  void replace(std::vector<int64_t>& changed, const OwnSegment& segment, int64_t own_ns) const {
    int64_t left = own_ns;
    for (uint32_t i = 0; i < segment.count; ++i) {
      const TaskId task = run.own_tasks[segment.first + i].task;
      const double share =
          static_cast<double>(run.graph.durations()[task]) / static_cast<double>(segment.own_ns);
      const int64_t part =
          i + 1 == segment.count ? left : static_cast<int64_t>(share * static_cast<double>(own_ns));
      changed[task] = part;
      left -= part;
    }
  }

  // If a rank was not stopped at a place, all its work there is one segment.
  void replace_rank(std::vector<int64_t>& changed, size_t rank,
                    const std::vector<bool>& counts) const {
    const std::vector<size_t>& own = segments_of[rank];
    for (size_t i = 0; i < own.size(); ++i) {
      const OwnSegment& segment = run.segments[own[i]];
      const auto typical = typical_at(run.places[segment.place], counts);
      const bool both = i + 1 < own.size() && run.segments[own[i + 1]].place == segment.place;
      if (both) {
        ++i;
        if (!typical) continue;
        replace(changed, segment, typical->before_ns);
        replace(changed, run.segments[own[i]], typical->after_ns);
      } else if (typical) {
        replace(changed, segment, typical->before_ns + typical->after_ns);
      }
    }
  }

  [[nodiscard]] std::vector<int64_t> lengths(std::span<const int64_t> changed) const {
    return step_lengths(run.steps,
                        simulate(run.graph, links ? &*links : nullptr, changed, run.graph.lags()));
  }
};

Replayer::Replayer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Replayer::~Replayer() = default;

std::unique_ptr<Replayer> Replayer::make(std::span<const RankDigest> digests, const Steps& steps,
                                         const Matching& matching, std::span<const Lattice> pieces,
                                         const ReplayHints& hints) {
  std::vector<OwnClock> clocks;
  std::vector<std::string> hosts;
  for (const size_t d : steps.ranks) {
    Lattice own = with_hidden_waits(digests[d], pieces[d]);
    if (d < hints.starved.size()) own = with_launch_waits(own, hints.starved[d]);
    clocks.emplace_back(own);
    if (d < hints.hosts.size()) hosts.push_back(hints.hosts[d]);
  }
  std::optional<RunGraph> run = run_graph_of(digests, steps, matching, clocks);
  if (!run) return nullptr;
  auto impl = std::make_unique<Impl>();
  impl->run = *std::move(run);
  for (const ReplayedStep& step : impl->run.steps) impl->steps.push_back(step.step);
  impl->links = SharedLinks::of(impl->run, digests, steps.ranks, hosts);
  impl->recorded = impl->lengths(impl->run.graph.durations());
  impl->index(steps.ranks.size());
  impl->judge();
  return std::unique_ptr<Replayer>(new Replayer(std::move(impl)));
}

const std::vector<size_t>& Replayer::steps() const { return impl_->steps; }
const std::vector<int64_t>& Replayer::recorded() const { return impl_->recorded; }

std::vector<int64_t> Replayer::gain_of(const Replacement& replacement) const {
  std::vector<int64_t> changed = impl_->run.graph.durations();
  const size_t ranks = impl_->segments_of.size();
  std::vector<bool> counts(ranks, replacement.peers.empty());
  for (const size_t peer : replacement.peers) counts[peer] = true;
  if (replacement.rank && !replacement.all) counts[*replacement.rank] = false;
  for (size_t r = 0; r < ranks; ++r) {
    if (replacement.all || replacement.rank == r) impl_->replace_rank(changed, r, counts);
  }
  std::vector<int64_t> gain = impl_->lengths(changed);
  for (size_t i = 0; i < gain.size(); ++i) gain[i] = impl_->recorded[i] - gain[i];
  return gain;
}

std::span<const OwnTask> Replayer::own_work(size_t entry) const {
  const std::vector<size_t>& first = impl_->run.own_tasks_of;
  return std::span(impl_->run.own_tasks).subspan(first[entry], first[entry + 1] - first[entry]);
}

std::vector<int64_t> Replayer::gain_of(std::span<const Relief> reliefs) const {
  std::vector<int64_t> changed = impl_->run.graph.durations();
  for (const Relief& relief : reliefs) {
    const std::span<const OwnTask> tasks = own_work(relief.entry);
    for (size_t t = 0; t < tasks.size(); ++t) {
      int64_t& duration = changed[tasks[t].task];
      duration = std::max<int64_t>(0, duration - relief.less_ns[t]);
    }
  }
  std::vector<int64_t> gain = impl_->lengths(changed);
  for (size_t i = 0; i < gain.size(); ++i) gain[i] = impl_->recorded[i] - gain[i];
  return gain;
}

const Replay& Replayer::quality() const { return impl_->quality; }
const RunGraph& Replayer::run() const { return impl_->run; }
const SharedLinks* Replayer::links() const { return impl_->links ? &*impl_->links : nullptr; }

}  // namespace dprof::analyzer
