// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "analyzer/replay/changed_transfers_internal.h"
#include "schema/function.h"

namespace dprof::analyzer {
namespace {

constexpr double kFirstCap = 1 << 20;  // of DDP's first bucket, in bytes
constexpr double kUnseen = 0.5;  // of a loss: possible error of the cost of more ranks, unrecorded

}  // namespace

std::string ChangedTransfers::take(const Change& change) {
  switch (change.subject) {
    case Subject::kTransfer:
      grounds_.rests("each transfer takes that share of its recorded time");
      return scale_transfers(change.factor, transfer_);
    case Subject::kBandwidth:
      return take_bandwidth(change);
    case Subject::kLatency:
      return take_latency(change);
    case Subject::kBucketCap:
      return take_bucket_cap(change);
    case Subject::kOverlap:
      return take_overlap();
    case Subject::kAccumulate:
      return take_accumulation(change);
    case Subject::kWorld:
      return take_world(change);
    default:
      return "dprof has no model of this change";
  }
}

void ChangedTransfers::drop_gradients(std::vector<int64_t>& durations) const {
  for (const Move& move : run_.moves) {
    if (run_.move_kinds[move.kind].gradients) durations[move.task] = 0;
  }
}

std::string ChangedTransfers::scale_transfers(double factor, double& of) {
  if (run_.moves.empty()) return "no rank communicates with another";
  of *= factor;
  if (known_.contention) {
    grounds_.rests("computation is slowed by the measured contention while transfers run");
  } else {
    grounds_.err("computation during a transfer is assumed to stay as fast as it is");
  }
  return {};
}

bool ChangedTransfers::any_cost() const {
  return std::ranges::any_of(run_.move_kinds,
                             [](const MoveKind& kind) { return kind.cost.has_value(); });
}

std::string ChangedTransfers::take_bandwidth(const Change& change) {
  if (any_cost()) {
    grounds_.rests(
        "a transfer takes a fixed part, by the fit of its communicator, and the rest by the "
        "bandwidth");
  } else {
    grounds_.rests(
        "no communicator has transfers of three sizes: their whole time is assumed to depend on "
        "the bandwidth");
    grounds_.err("latency is assumed to be zero: too optimistic if transfers are small");
  }
  for (const MoveKind& kind : run_.move_kinds) {
    if (kind.cost) grounds_.doubts(kind.cost->residual);
  }
  return scale_transfers(change.factor, bandwidth_);
}

std::string ChangedTransfers::take_latency(const Change& change) {
  if (!any_cost()) {
    return "no communicator has transfers of two sizes, one at least twice the other: latency is "
           "unknown";
  }
  grounds_.rests("the fixed part of a transfer, by the fit of its communicator, is scaled");
  for (const MoveKind& kind : run_.move_kinds) {
    if (kind.cost) grounds_.doubts(kind.cost->residual);
  }
  return scale_transfers(change.factor, latency_);
}

std::string ChangedTransfers::take_overlap() {
  if (run_.on_device) {
    // The host runs ahead of its device: a call's time does not show when gradients were ready.
    const std::vector<Buckets> all = buckets();
    for (const Buckets& one : all) send_early(one);
    if (!all.empty()) {
      grounds_.rests(
          "gradients become ready evenly over backward, and a bucket is sent as soon as it is "
          "full");
      grounds_.err(
          "an upper bound: computation during transfers is assumed to stay as fast as it is");
      return {};
    }
  }
  if (!known_.overlap) return "which computation could hide transfers was not determined";
  std::map<int64_t, const StepOverlap*> of_step;
  for (const StepOverlap& step : known_.overlap->per_step) of_step[step.step] = &step;
  bool any = false;
  kept_.assign(run_.steps.size(), 1);
  for (size_t s = 0; s < run_.steps.size(); ++s) {
    const auto known = of_step.find(run_.step_index[s]);
    if (known == of_step.end() || !known->second->hideable_ns) continue;
    any = true;
    const auto exposed = static_cast<double>(known->second->exposed_transfer_ns);
    if (exposed <= 0) continue;
    kept_[s] = std::clamp(1 - static_cast<double>(*known->second->hideable_ns) / exposed, 0.0, 1.0);
  }
  if (!any) return "no step shows computation that could hide its transfers";
  grounds_.rests(
      "exposed transfers shrink by what computation between their readiness and the update could "
      "hide");
  grounds_.err("an upper bound: the calls must be made as soon as their data is ready");
  return {};
}

void ChangedTransfers::send_early(Buckets one) {
  // One that waited for its predecessors is recorded at its begin: nothing fills after backward.
  double bytes = 0;
  for (Bucket& bucket : one.of) {
    bucket.ready_ns = std::min(bucket.ready_ns, one.backward_end_ns);
    bytes += bucket.bytes;
  }
  std::vector<double> ready;
  std::vector<double> closes;
  double upto = 0;
  const double end = one.backward_end_ns;
  // Layers with more parameters do not necessarily take longer.
  const bool equal = grounds_.other(Doubt::kEvenly, true);
  ready.push_back(end - one.backward_ns);
  for (const Bucket& bucket : one.of) {
    upto += bucket.bytes;
    closes.push_back(upto);
    const double share =
        equal ? static_cast<double>(closes.size()) / static_cast<double>(one.of.size())
              : upto / bytes;
    ready.push_back(std::min(bucket.ready_ns, end - one.backward_ns * (1 - share)));
  }
  send_again(one.of, ready, closes);
}

// The part of a transfer that does not depend on its size.
double ChangedTransfers::latency_of(const Move& move) const {
  const std::optional<LinearCost>& cost = run_.move_kinds[move.kind].cost;
  return cost ? cost->alpha_ns : 0;
}

double ChangedTransfers::apply() {
  const bool goes_by_size = bandwidth_ != 1 || latency_ != 1;
  double before = 0;
  double after = 0;
  for (const Move& move : run_.moves) {
    int64_t& duration = durations_[move.task];
    const auto whole = static_cast<double>(duration);
    // A transfer without a fit could be all latency.
    const bool unknown = goes_by_size && !run_.move_kinds[move.kind].cost;
    const double fixed =
        unknown && grounds_.other(Doubt::kLatency) ? whole : std::min(latency_of(move), whole);
    double now = transfer_ * (latency_ * fixed + (whole - fixed) / bandwidth_);
    if (!kept_.empty()) now *= kept_[move.step];
    duration = std::llround(now);
    before += whole;
    after += now;
  }
  return before <= 0 ? 1 : after / before;
}

// By rank and step, in the order of their numbers, which is that of their transfers.
std::vector<ChangedTransfers::Buckets> ChangedTransfers::buckets() const {
  std::vector<TaskId> start_of(run_.moves.size(), 0);
  for (TaskId task = 0; task < run_.roles.size(); ++task) {
    if (run_.roles[task].what == TaskRole::What::kStart) start_of[run_.roles[task].index] = task;
  }
  uint32_t steps = 0;
  for (const Move& move : run_.moves) steps = std::max(steps, move.step + 1);
  std::vector<Buckets> all(run_.ranks.size() * steps);  // by entry and step
  for (size_t m = 0; m < run_.moves.size(); ++m) {
    const Move& move = run_.moves[m];
    const MoveKind& kind = run_.move_kinds[move.kind];
    if (!move.bucket || !kind.bytes || *kind.bytes <= 0) continue;
    Bucket one{.move = &move, .bytes = static_cast<double>(*kind.bytes)};
    const auto whole = static_cast<double>(durations_[move.task]);
    one.fixed_ns = std::min(latency_of(move), whole);
    one.moving_ns = whole - one.fixed_ns;
    // When the rank reached it, whatever else was still in progress.
    for (const TaskId before : run_.graph->before(start_of[m])) {
      if (run_.roles[before].what == TaskRole::What::kMove) continue;
      one.ready_ns = std::max(one.ready_ns, static_cast<double>(known_.ends[before]));
    }
    all[size_t{move.entry} * steps + move.step].of.push_back(one);
  }
  for (const Work& work : run_.works) {
    if (work.step >= steps) continue;
    Buckets& buckets = all[size_t{work.entry} * steps + work.step];
    if (buckets.of.empty()) continue;
    for (uint32_t p = 0; p < work.parts; ++p) {
      const WorkPart& part = run_.parts[work.first_part + p];
      const WorkKind& kind = run_.work_kinds[part.kind];
      if (!kind.computes() || kind.phase_of() != Category::kBackward) continue;
      buckets.backward_ns += static_cast<double>(part.ns);
      buckets.backward_end_ns = static_cast<double>(known_.ends[work.task]);
    }
  }
  std::erase_if(all, [](const Buckets& buckets) { return buckets.of.empty(); });
  for (Buckets& buckets : all)
    std::ranges::stable_sort(buckets.of, {}, [](const Bucket& b) { return *b.move->bucket; });
  return all;
}

// `closes`: bytes that are ready when each new bucket is full; `ready_ns`: when the bytes of the
// recorded buckets are ready, starting from zero bytes. A new bucket is sent once it is full and
// the previous one has arrived. Each recorded one then takes from its begin until the new ones that
// were full by then have arrived.
void ChangedTransfers::send_again(const std::vector<Bucket>& old,
                                  const std::vector<double>& ready_ns,
                                  const std::vector<double>& closes) const {
  double upto = 0;  // bytes before this bucket
  double free = -std::numeric_limits<double>::infinity();
  double carried = 0;  // of transfers, to be sent with the following bytes
  double replayed = free;
  size_t next = 0;
  for (size_t b = 0; b < old.size(); ++b) {
    const Bucket& bucket = old[b];
    double taken = 0;  // of this bucket's bytes
    bool any = false;
    while (next < closes.size() && closes[next] <= upto + bucket.bytes + 0.5) {
      const double within = std::min(closes[next] - upto, bucket.bytes);
      const double ready = ready_ns[b] + (ready_ns[b + 1] - ready_ns[b]) * within / bucket.bytes;
      const double moving = carried + bucket.moving_ns * (within - taken) / bucket.bytes;
      free = std::max(free, ready) + bucket.fixed_ns + moving;
      carried = 0;
      taken = within;
      any = true;
      ++next;
    }
    carried += bucket.moving_ns * (bucket.bytes - taken) / bucket.bytes;
    const double begin = std::max(bucket.ready_ns, replayed);
    const double length = any ? std::max(0.0, free - begin) : 0;
    durations_[bucket.move->task] = std::llround(length);
    replayed = begin + length;
    upto += bucket.bytes;
  }
}

std::string ChangedTransfers::take_bucket_cap(const Change& change) {
  const std::vector<Buckets> all = buckets();
  if (all.empty()) return "no order of buckets was recorded: only DDP's are known";
  const bool fitted = std::ranges::any_of(run_.move_kinds, [](const MoveKind& kind) {
    return kind.gradients && kind.cost.has_value();
  });
  if (!fitted) {
    return "the buckets are too similar in size to fit the link's cost";
  }
  const auto cap = static_cast<double>(change.bytes);
  for (const Buckets& one : all) {
    const std::vector<Bucket>& old = one.of;
    double bytes = 0;
    for (const Bucket& bucket : old) bytes += bucket.bytes;
    // The first one's fill time is unknown: as fast as the others, or all of backward.
    std::vector<double> ready;
    const double rest = bytes - old.front().bytes;
    const double evenly =
        rest > 0 ? (old.back().ready_ns - old.front().ready_ns) * old.front().bytes / rest
                 : one.backward_ns;
    const bool other = grounds_.other(Doubt::kFirstBucket);
    const double until_end = old.back().ready_ns - old.front().ready_ns;
    ready.push_back(old.front().ready_ns -
                    (other ? std::max(0.0, one.backward_ns - until_end) : evenly));
    for (const Bucket& bucket : old) ready.push_back(std::max(bucket.ready_ns, ready.back()));
    send_again(old, ready, closes_of(old, bytes, cap));
  }
  for (const MoveKind& kind : run_.move_kinds) {
    if (kind.cost && kind.gradients) grounds_.doubts(kind.cost->residual);
  }
  grounds_.rests(
      "buckets are merged until they reach the cap, or split; transfers follow their fit");
  grounds_.err("gradients of a bucket are assumed to become ready evenly while it fills");
  return {};
}

// DDP closes a bucket as soon as it has reached the cap, the first one at 1 MiB. A much larger
// bucket presumably holds a single parameter, and shows how large these are.
std::vector<double> ChangedTransfers::closes_of(const std::vector<Bucket>& old, double bytes,
                                                double cap) const {
  const double first = old.front().bytes;
  const bool whole_first = old.size() > 1 && first > kFirstCap;
  const double parameter = whole_first && !grounds_.other(Doubt::kParameters) ? first : 0;
  const double full = parameter > 0 ? std::ceil(cap / parameter) * parameter : cap;
  std::vector<double> closes;
  double upto = 0;  // that is in a closed bucket
  if (old.size() > 1 && (first <= cap || whole_first)) closes.push_back(upto = first);
  double seen = 0;
  for (const Bucket& bucket : old) {
    seen += bucket.bytes;
    // A larger bucket is divided; otherwise it is merged with the following ones as a whole.
    while (bucket.bytes > full && seen - upto >= full) closes.push_back(upto += full);
    if (bucket.bytes <= full && seen - upto >= cap) closes.push_back(upto = seen);
  }
  if (upto < bytes) closes.push_back(bytes);
  return closes;
}

std::string ChangedTransfers::take_accumulation(const Change& change) {
  if (std::ranges::none_of(run_.move_kinds, &MoveKind::gradients))
    return "no transfer is known to carry gradients: only DDP's buckets show it";
  passes_ *= change.factor;
  runs_ahead_ = run_.on_device && grounds_.other(Doubt::kRunsAhead, true);
  grounds_.rests(
      "only one of that many passes sends gradients and updates; a step is one pass, with as many "
      "samples as now");
  if (run_.on_device) {
    grounds_.err(
        "between updates the host may run ahead of its device, and then hides the wait for data: "
        "the answer is halfway between both");
  }
  grounds_.err("it changes what is computed: the batch of an update grows by that factor");
  return {};
}

// Weak scaling: each rank does the same work, but the last of more ranks arrives later.
std::string ChangedTransfers::take_world(const Change& change) {
  if (run_.ranks.size() < 2)
    return "there is only one rank: nothing shows how long more ranks would wait";
  if (run_.moves.empty()) return "no rank communicates with another";
  const std::set<std::string> hosts(run_.hosts.begin(), run_.hosts.end());
  if (hosts.size() > 1 && std::ranges::any_of(run_.move_kinds, [](const MoveKind& kind) {
        return schema::is_message(kind.function);
      })) {
    return "ranks send messages to each other: which of these would go between hosts depends on "
           "where the new ranks are placed";
  }
  // Trees have fewer hops than rings, and it is not recorded that the last of more ranks is later.
  const bool trees = grounds_.other(Doubt::kTrees);
  size_t widest = 0;
  for (const MoveKind& kind : run_.move_kinds) widest = std::max(widest, kind.members);
  for (const Move& move : run_.moves) {
    const MoveKind& kind = run_.move_kinds[move.kind];
    if (schema::is_message(kind.function) || kind.members < widest) continue;
    const auto n = static_cast<double>(kind.members);
    const double more = n * change.factor;
    int64_t& duration = durations_[move.task];
    const auto whole = static_cast<double>(duration);
    const double fixed = std::min(latency_of(move), whole);
    // A ring: as many hops as other ranks, each with its part of the bytes.
    const double hops =
        trees && n > 1 ? std::log2(more) / std::log2(n) : (more - 1) / std::max(1.0, n - 1);
    duration = std::llround(fixed * hops + (whole - fixed) * ((more - 1) / more) / ((n - 1) / n));
  }
  grounds_.doubts(kUnseen);
  if (!trees) longer_ns_ += later_of_more(change.factor);
  grounds_.rests(
      "each rank works as long as now; rings are longer; the last of more ranks arrives later, by "
      "an estimate from how ranks differ");
  grounds_.err(any_cost() ? "new hosts are assumed to be linked like the present ones"
                          : "latency is unknown and assumed to be zero: the loss may be larger");
  return {};
}

// How much later the last of `times` as many ranks is: the expected largest of n draws from the
// ranks' recorded work beyond the mean of their step.
int64_t ChangedTransfers::later_of_more(double times) const {
  std::vector<std::vector<double>> own(run_.steps.size(),
                                       std::vector<double>(run_.ranks.size(), 0));
  for (const Work& work : run_.works)
    own[work.step][work.entry] += static_cast<double>(durations_[work.task]);
  std::vector<double> beyond;
  for (std::vector<double>& step : own) {
    double mean = 0;
    for (const double ns : step) mean += ns / static_cast<double>(step.size());
    for (const double ns : step) beyond.push_back(ns - mean);
  }
  std::ranges::sort(beyond);
  const auto largest_of = [&](double n) {
    double sum = 0;
    const auto all = static_cast<double>(beyond.size());
    for (size_t i = 0; i < beyond.size(); ++i) {
      sum += beyond[i] * (std::pow(static_cast<double>(i + 1) / all, n) -
                          std::pow(static_cast<double>(i) / all, n));
    }
    return sum;
  };
  const auto n = static_cast<double>(run_.ranks.size());
  return std::llround(std::max(0.0, largest_of(n * times) - largest_of(n)));
}

}  // namespace dprof::analyzer
