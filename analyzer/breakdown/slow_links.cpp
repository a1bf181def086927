// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/slow_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "analyzer/breakdown/host_numbers.h"
#include "analyzer/breakdown/interface_load.h"
#include "analyzer/breakdown/slow_groups.h"
#include "analyzer/steps/per_step.h"
#include "analyzer/vocabulary/thresholds.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

using schema::Function;
constexpr size_t kMostOnsets = 8;           // in a report, the most expensive; verdicts use all
constexpr int64_t kLeastExcessNs = 20'000;  // of a rise: a smaller one is not attributed to a link

// One transfer. 40 bytes.
struct Sample {
  uint32_t unit = 0;  // the unit of comparison: a communicator, or a pair of ranks
  uint32_t step = 0;  // position among the examined steps
  int64_t bytes = 0;
  int64_t transfer_ns = 0;
  int64_t alone_ns = 0;  // as if alone on its way: for messages, and within a host
  Function function{};
};

struct Unit {
  std::string communicator;
  std::vector<int> ranks;
  std::vector<int> hosts;  // sorted
  bool messages = false;
  int64_t bound_ns = 0;  // of its transfers, if clocks are involved
};

// Transfers of a unit that should take equally long.
struct Flow {
  size_t unit;
  Function function;
  int64_t bytes;
  auto operator<=>(const Flow&) const = default;
};

class Gatherer {
 public:
  Gatherer(std::span<const RankDigest> digests, std::span<const TraceFile> traces,
           const Matching& matching, const StepsByTime& step_of)
      : digests_(digests),
        matching_(matching),
        step_of_(step_of),
        hosts_(traces),
        load_(hosts_.count()),
        load_inside_(hosts_.count()) {
    weigh_interfaces();
    add_collectives();
    add_messages();
  }

  [[nodiscard]] const std::vector<Sample>& samples() const { return samples_; }
  [[nodiscard]] const std::vector<Unit>& units() const { return units_; }
  [[nodiscard]] const HostNumbers& hosts() const { return hosts_; }

 private:
  // nullopt: the host of one of the ranks is unknown.
  std::optional<uint32_t> add_unit(const std::string& communicator, std::vector<int> ranks) {
    if (!hosts_.know(ranks)) return std::nullopt;
    std::vector<int> hosts = hosts_.of(ranks);
    units_.push_back({communicator, std::move(ranks), std::move(hosts)});
    return static_cast<uint32_t>(units_.size()) - 1;
  }

  void add_collectives() {
    std::map<size_t, std::optional<uint32_t>> unit_of_group;
    for (const Instance& instance : matching_.instances) {
      if (!instance.comparable || instance.guessed || !instance.bytes || *instance.bytes <= 0 ||
          instance.transfer_ns <= 0)
        continue;
      const Group& group = matching_.groups[instance.group];
      if (group.members.size() < 2) continue;
      const auto step = step_of_.of(instance, digests_);
      if (!step) continue;
      const auto [known, is_new] = unit_of_group.try_emplace(instance.group);
      if (is_new) known->second = add_unit(group.name, group.members);
      if (!known->second) continue;
      const std::vector<int>& hosts = units_[*known->second].hosts;
      const std::optional<Interval> span = on_the_way(instance);
      samples_.push_back(
          {*known->second, static_cast<uint32_t>(*step), *instance.bytes, instance.transfer_ns,
           span && hosts.size() == 1 ? load_inside_.alone_ns(hosts, *span) : instance.transfer_ns,
           instance.function});
    }
  }

  [[nodiscard]] std::optional<TraceNs> end_of(const Member& member) const {
    return digests_[member.digest].collectives[member.record].end;
  }

  [[nodiscard]] std::optional<Interval> on_the_way(const Message& message) const {
    if (!message.receive || message.transfer_ns.value_or(0) <= 0) return std::nullopt;
    const std::optional<TraceNs> end = end_of(*message.receive);
    if (!end) return std::nullopt;
    return Interval{*end - DurationNs{*message.transfer_ns}, *end};
  }

  [[nodiscard]] std::optional<Interval> on_the_way(const Instance& instance) const {
    std::optional<TraceNs> last;
    for (const Member& member : instance.members) last = std::max(last, end_of(member));
    if (!last || instance.transfer_ns <= 0) return std::nullopt;
    return Interval{*last - DurationNs{instance.transfer_ns}, *last};
  }

  // Transfers that leave a host, and those within one, with their times.
  void weigh_interfaces() {
    std::vector<std::vector<int>> hosts_of_group;
    for (const Group& group : matching_.groups) hosts_of_group.push_back(hosts_.of(group.members));
    for (const Instance& instance : matching_.instances) {
      const std::vector<int>& hosts = hosts_of_group[instance.group];
      const std::optional<Interval> span = on_the_way(instance);
      if (!instance.comparable || !span || hosts.empty()) continue;
      (hosts.size() > 1 ? load_ : load_inside_).add(hosts, *span);
    }
    for (const Message& message : matching_.messages) {
      if (!message.from || !message.to) continue;
      const std::vector<int> hosts = hosts_.of(std::array{*message.from, *message.to});
      const std::optional<Interval> span = on_the_way(message);
      if (span && !hosts.empty()) (hosts.size() > 1 ? load_ : load_inside_).add(hosts, *span);
    }
    load_.finish();
    load_inside_.finish();
  }

  void add_messages() {
    std::map<std::tuple<size_t, int, int>, std::optional<uint32_t>> unit_of_pair;
    for (const Message& message : matching_.messages) {
      if (!message.send || !message.from || !message.to || !message.bytes ||
          message.transfer_ns.value_or(0) <= 0)
        continue;
      if (static_cast<double>(message.bound_ns.value_or(0)) >
          limit::kMostBound * static_cast<double>(*message.transfer_ns))
        continue;
      const auto step = step_of_.of(message, digests_);
      if (!step) continue;
      const auto [known, is_new] =
          unit_of_pair.try_emplace({message.group, *message.from, *message.to});
      if (is_new) {
        known->second =
            add_unit(matching_.groups[message.group].name, {*message.from, *message.to});
      }
      if (!known->second) continue;
      Unit& unit = units_[*known->second];
      unit.messages = true;
      unit.bound_ns = std::max(unit.bound_ns, message.bound_ns.value_or(0));
      const std::optional<Interval> span = on_the_way(message);
      const InterfaceLoad& load = unit.hosts.size() > 1 ? load_ : load_inside_;
      samples_.push_back(
          {*known->second, static_cast<uint32_t>(*step), *message.bytes, *message.transfer_ns,
           span ? load.alone_ns(unit.hosts, *span) : *message.transfer_ns, Function::kSend});
    }
  }

  std::span<const RankDigest> digests_;
  const Matching& matching_;
  const StepsByTime& step_of_;
  HostNumbers hosts_;
  std::vector<Unit> units_;
  std::vector<Sample> samples_;
  InterfaceLoad load_;
  InterfaceLoad load_inside_;
};

// Transfers of one flow in one window: their lower quartile and count. A slow link also slows the
// quick ones; concurrent transfers on a link slow only some.
struct Cell {
  Flow flow;
  int64_t window = 0;
  int64_t quick_ns = 0;
  int64_t alone_ns = 0;  // likewise, as if alone on their way
  int64_t n = 0;
};

// Mean exposed transfer of a rank's part, by communicator, function and size. Hidden communication
// costs nothing, and a longer transfer is longer at its end, which is the least hidden.
using Exposures = std::map<std::tuple<std::string, Function, int64_t>, double>;
Exposures exposures_of(const Overlap* overlap) {
  Exposures exposures;
  if (overlap == nullptr) return exposures;
  for (const CollectiveOverlap& one : overlap->per_collective) {
    // For messages all pairs share one entry.
    if (!one.bytes || one.n == 0 || one.function == Function::kSend ||
        one.function == Function::kRecv)
      continue;
    exposures[{one.communicator, one.function, *one.bytes}] =
        static_cast<double>(one.exposed_transfer_ns) / static_cast<double>(one.n);
  }
  return exposures;
}

class Comparer {
 public:
  Comparer(const Gatherer& gathered, std::span<const AlignedStep> steps, Exposures exposures)
      : gathered_(gathered),
        exposures_(std::move(exposures)),
        steps_(steps),
        steps_of_window_(
            std::max(kFewestStepsOfWindow, (steps.size() + kMostWindows - 1) / kMostWindows)) {
    fill_cells();
  }

  // False: no two groups are comparable.
  bool run(LinkStudy& study) {
    SlowLinks& found = study.links;
    ClusterView view = compare_groups(transfers_by(&Cell::alone_ns));
    if (view.compared.empty()) return false;
    must_be_slow_as_recorded(view);
    const double least_ns = limit::kLeastLoss * static_cast<double>(median_step());
    std::erase_if(view.slow, [&](const SlowGroup& group) {
      return may_be_chance(group) || static_cast<double>(excess_of(group)) < least_ns;
    });
    std::vector<size_t> slow;
    for (const SlowGroup& group : view.slow) {
      const Unit& unit = gathered_.units()[group.group];
      found.groups.push_back({unit.communicator, unit.ranks, group.ratio, group.windows});
      slow.push_back(group.group);
    }
    if (slow.empty()) return true;
    std::vector<GroupNodes> nodes;
    for (const size_t unit : view.compared) {
      if (gathered_.units()[unit].hosts.size() > 1)
        nodes.push_back({unit, gathered_.units()[unit].hosts});
    }
    // A slow transfer within a host does not involve its interface.
    std::erase_if(slow, [&](size_t unit) { return gathered_.units()[unit].hosts.size() < 2; });
    const Localised localised = localise(nodes, slow);
    found.within_only = localised.certain.empty();
    for (const int host : localised.certain) {
      found.suspects.push_back(gathered_.hosts().name(host));
      found.hosts.push_back(describe(host, view));
    }
    if (found.within_only && !slow.empty()) study.somewhere = describe({}, view);
    return true;
  }

 private:
  [[nodiscard]] std::vector<GroupTransfer> transfers_by(int64_t Cell::*ns) const {
    std::vector<GroupTransfer> transfers;
    for (const Cell& cell : cells_) {
      const Unit& unit = gathered_.units()[cell.flow.unit];
      transfers.push_back({.group = cell.flow.unit,
                           .window = cell.window,
                           .function = cell.flow.function,
                           .bytes = cell.flow.bytes,
                           .ranks = unit.ranks.size(),
                           .topology = static_cast<int>(unit.hosts.size()),
                           .transfer_ns = cell.*ns});
    }
    return transfers;
  }

  // It is unknown whether groups within a host share its paths. One is slow only if it is slow both
  // with and without the transfers it met.
  void must_be_slow_as_recorded(ClusterView& view) const {
    const std::vector<SlowGroup> recorded = slow_groups(transfers_by(&Cell::quick_ns));
    std::erase_if(view.slow, [&](SlowGroup& group) {
      const Unit& unit = gathered_.units()[group.group];
      if (unit.hosts.size() > 1) return false;
      const auto same = std::ranges::find(recorded, group.group, &SlowGroup::group);
      if (same != recorded.end()) group = *same;
      return same == recorded.end();
    });
  }

  // By flow and window, in that order.
  void fill_cells() {
    std::vector<Sample> sorted = gathered_.samples();
    const auto place = [&](const Sample& s) {
      return std::make_tuple(s.unit, s.function, s.bytes, window_of(s.step));
    };
    std::ranges::stable_sort(sorted, {}, place);
    for (size_t begin = 0; begin < sorted.size();) {
      size_t end = begin;
      std::vector<double> all;
      std::vector<double> alone;
      for (; end < sorted.size() && place(sorted[end]) == place(sorted[begin]); ++end) {
        all.push_back(static_cast<double>(sorted[end].transfer_ns));
        alone.push_back(static_cast<double>(sorted[end].alone_ns));
      }
      const Sample& first = sorted[begin];
      cells_.push_back({{first.unit, first.function, first.bytes},
                        window_of(first.step),
                        static_cast<int64_t>(quantile(all, 0.25)),
                        static_cast<int64_t>(quantile(alone, 0.25)),
                        static_cast<int64_t>(all.size())});
      begin = end;
    }
  }

  [[nodiscard]] int64_t window_of(size_t step) const {
    return static_cast<int64_t>(step / steps_of_window_);
  }

  [[nodiscard]] int64_t median_step() const {
    std::vector<int64_t> lengths;
    for (const AlignedStep& step : steps_) lengths.push_back(step.longest_ns);
    return median_ns(std::move(lengths));
  }

  // For a message the clocks can be wrong by the bound, as for the messages it is compared with;
  // and the transfers it meets on its way depend on its place in the pipeline.
  [[nodiscard]] bool may_be_chance(const SlowGroup& group) const {
    const int64_t bound = gathered_.units()[group.group].bound_ns;
    if (gathered_.units()[group.group].messages && group.ratio < limit::kSlowMessages) return true;
    if (bound == 0) return false;
    std::vector<int64_t> excess;
    for (const Cell& cell : cells_) {
      if (cell.flow.unit == group.group)
        excess.push_back(
            static_cast<int64_t>(static_cast<double>(cell.quick_ns) * (1 - 1 / group.ratio)));
    }
    return median_ns(std::move(excess)) <= 2 * bound;
  }

  // Without a host: all slow groups that span several.
  SlowHost describe(std::optional<int> host, const ClusterView& view) const {
    SlowHost one{.host = host ? gathered_.hosts().name(*host) : "",
                 .ranks = host ? gathered_.hosts().ranks_on(*host) : std::vector<int>(),
                 .onset_step = {}};
    std::vector<double> ratios;
    std::map<int, int64_t> excess;  // by rank
    int64_t since = INT64_MAX;
    bool before = false;
    for (const SlowGroup& group : view.slow) {
      const Unit& unit = gathered_.units()[group.group];
      if (unit.hosts.size() < 2) continue;
      if (host && std::ranges::count(unit.hosts, *host) == 0) continue;
      ++one.groups;
      ratios.push_back(group.ratio);
      since = std::min(since, group.first_window);
      before = before || group.slow_before;
      for (const int rank : unit.ranks) excess[rank] += excess_of(group);
    }
    one.ratio = median(ratios);
    for (const auto& [rank, ns] : excess) {
      if (!host || std::ranges::count(one.ranks, rank) != 0)
        one.excess_ns = std::max(one.excess_ns, ns);
    }
    if (!before) one.onset_step = steps_[static_cast<size_t>(since) * steps_of_window_].index;
    return one;
  }

  // The exposed share of one transfer, as far as it is known.
  [[nodiscard]] double exposed_of(const Flow& flow) const {
    const auto known =
        exposures_.find({gathered_.units()[flow.unit].communicator, flow.function, flow.bytes});
    return known == exposures_.end() ? std::numeric_limits<double>::infinity() : known->second;
  }

  // Per step while slow: the time of its transfers beyond those of its cluster, by its ratio.
  [[nodiscard]] int64_t excess_of(const SlowGroup& group) const {
    double sum = 0;
    for (const Cell& cell : cells_) {
      if (cell.flow.unit != group.group || cell.window < group.first_window ||
          cell.window > group.last_window)
        continue;
      const double excess = static_cast<double>(cell.quick_ns) * (1 - 1 / group.ratio);
      sum += static_cast<double>(cell.n) * std::min(excess, exposed_of(cell.flow));
    }
    const auto begin = static_cast<size_t>(group.first_window) * steps_of_window_;
    const auto end = static_cast<size_t>(group.last_window + 1) * steps_of_window_;
    return static_cast<int64_t>(sum / static_cast<double>(std::min(end, steps_.size()) - begin));
  }

  const Gatherer& gathered_;
  const Exposures exposures_;
  const std::span<const AlignedStep> steps_;
  const size_t steps_of_window_;
  std::vector<Cell> cells_;
};

// Compares each flow with itself: medians per step, and where they rise.
void find_onsets(const Gatherer& gathered, std::span<const AlignedStep> steps, LinkStudy& study) {
  std::vector<Sample> sorted = gathered.samples();
  const auto flow = [](const Sample& s) { return Flow{s.unit, s.function, s.bytes}; };
  std::ranges::stable_sort(sorted, {}, [&](const Sample& s) {
    return std::make_tuple(s.unit, s.function, s.bytes, s.step);
  });
  std::set<size_t> steady;  // units; those that slowed down are removed at the end
  std::set<size_t> slower;
  for (size_t begin = 0; begin < sorted.size();) {
    std::vector<double> series;
    std::vector<uint32_t> at;
    size_t end = begin;
    while (end < sorted.size() && flow(sorted[end]) == flow(sorted[begin])) {
      std::vector<int64_t> of_step;
      const uint32_t step = sorted[end].step;
      for (; end < sorted.size() && flow(sorted[end]) == flow(sorted[begin]) &&
             sorted[end].step == step;
           ++end)
        of_step.push_back(gathered.units()[sorted[end].unit].messages ? sorted[end].alone_ns
                                                                      : sorted[end].transfer_ns);
      series.push_back(static_cast<double>(median_ns(std::move(of_step))));
      at.push_back(step);
    }
    const auto rise = lasting_rise(series, limit::kFewestOfLevel);
    const size_t unit = sorted[begin].unit;
    (rise ? slower : steady).insert(unit);
    if (rise && rise->after - rise->before >= static_cast<double>(kLeastExcessNs)) {
      study.slower.push_back({{.communicator = gathered.units()[unit].communicator,
                               .function = sorted[begin].function,
                               .bytes = sorted[begin].bytes,
                               .ratio = rise->after / rise->before,
                               .step = steps[at[rise->at]].index,
                               .excess_ns = static_cast<int64_t>(rise->after - rise->before)},
                              gathered.units()[unit].ranks});
    }
    begin = end;
  }
  std::ranges::stable_sort(study.slower, std::ranges::greater(),
                           [](const SlowerGroup& one) { return one.transfers.excess_ns; });
  for (const SlowerGroup& one :
       std::span(study.slower).first(std::min(kMostOnsets, study.slower.size())))
    study.links.onsets.push_back(one.transfers);
  for (const size_t unit : steady) {
    if (!slower.contains(unit)) study.unchanged.push_back(gathered.units()[unit].ranks);
  }
}

// If the network becomes slow midway, everything before looks like a warm-up. So the warm-up is
// examined too, unless the user chose the steps.
std::span<const AlignedStep> steps_to_look_at(const Steps& steps) {
  constexpr size_t kNeverSteady = 2;
  std::vector<int64_t> lengths;
  for (const AlignedStep& step : steps.steps) lengths.push_back(step.longest_ns);
  const bool chosen =
      steps.last_steady + 1 != steps.steps.size() || steps.first_steady != end_of_warm_up(lengths);
  return chosen ? steps.steady()
                : std::span(steps.steps).subspan(std::min(kNeverSteady, steps.first_steady));
}

}  // namespace

std::optional<Rise> lasting_rise(std::span<const double> series, size_t fewest) {
  if (series.size() < 2 * fewest) return std::nullopt;
  // Single spikes must not change the sum.
  const std::vector<double> all(series.begin(), series.end());
  const double low = quantile(all, 0.05);
  const double high = quantile(all, 0.95);
  std::vector<double> calm;
  for (const double value : series) calm.push_back(std::clamp(value, low, high));
  const size_t at = rise_point(calm);
  if (at < fewest || calm.size() - at < fewest) return std::nullopt;
  const std::vector<double> first(series.begin(), series.begin() + static_cast<ptrdiff_t>(at));
  const std::vector<double> second(series.begin() + static_cast<ptrdiff_t>(at), series.end());
  const Rise rise{at, median(first), median(second)};
  if (rise.before <= 0 || rise.after <= limit::kRiseRatio * rise.before) return std::nullopt;
  if (quantile(second, limit::kEdge) <= quantile(first, 1 - limit::kEdge)) return std::nullopt;
  return rise;
}

std::optional<LinkStudy> slow_links_of(std::span<const RankDigest> digests,
                                       std::span<const TraceFile> traces, const Matching& matching,
                                       const Steps& steps, const Overlap* overlap,
                                       std::vector<Diagnostic>& notes) {
  const std::span<const AlignedStep> looked_at = steps_to_look_at(steps);
  const StepsByTime step_of(steps, looked_at, digests.size());
  const Gatherer gathered(digests, traces, matching, step_of);
  if (gathered.samples().empty()) return std::nullopt;
  const auto note = [&](std::string text) {
    notes.push_back(make_diagnostic("not_computed", std::move(text)));
  };
  LinkStudy study;
  const bool compared = Comparer(gathered, looked_at, exposures_of(overlap)).run(study);
  if (!compared && gathered.hosts().count() > 1) {
    note(
        "slow links: fewer than three groups of ranks communicate in the same way, so "
        "a slow link cannot be located, only detected if it became slower during the run");
  }
  if (looked_at.size() >= 2 * limit::kFewestOfLevel) {
    find_onsets(gathered, looked_at, study);
  } else if (!compared) {
    return std::nullopt;
  }
  return study;
}

}  // namespace dprof::analyzer
