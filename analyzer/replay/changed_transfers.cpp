// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>

#include "analyzer/replay/changed_transfers_internal.h"
#include "schema/function.h"

namespace dprof::analyzer {
namespace {

constexpr double kUnseen = 0.5;  // of a loss: how far what more ranks cost may be off, unrecorded

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
      return "it is not known how";
  }
}

void ChangedTransfers::drop_gradients(std::vector<int64_t>& durations) const {
  for (const Move& move : run_.moves) {
    if (run_.move_kinds[move.kind].gradients) durations[move.task] = 0;
  }
}

std::string ChangedTransfers::scale_transfers(double factor, double& of) {
  if (run_.moves.empty()) return "no rank meets another one";
  of *= factor;
  if (known_.contention) {
    grounds_.rests("computation is slowed down by the measured contention while transfers run");
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
        "a transfer takes a part that does not depend on its size, by the fit of its "
        "communicator, and the rest by the bandwidth");
  } else {
    grounds_.rests(
        "no communicator has transfers of three sizes: their whole time is taken to go by the "
        "bandwidth");
    grounds_.err("latency is taken to be nothing: it promises too much where transfers are small");
  }
  for (const MoveKind& kind : run_.move_kinds) {
    if (kind.cost) grounds_.doubts(kind.cost->residual);
  }
  return scale_transfers(change.factor, bandwidth_);
}

std::string ChangedTransfers::take_latency(const Change& change) {
  if (!any_cost()) {
    return "no communicator has transfers of two sizes, one at least twice the other: "
           "latency is not known";
  }
  grounds_.rests(
      "the part of a transfer that does not depend on its size, by the fit of its communicator");
  for (const MoveKind& kind : run_.move_kinds) {
    if (kind.cost) grounds_.doubts(kind.cost->residual);
  }
  return scale_transfers(change.factor, latency_);
}

std::string ChangedTransfers::take_overlap() {
  if (!known_.overlap) return "what transfers could hide behind was not computed";
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
      "of exposed transfers, what computation between their readiness and the update could hide");
  grounds_.err("a bound: it needs the calls to be made as soon as their data is ready");
  return {};
}

// What of a transfer does not depend on its size.
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
    // What is not fitted may be latency altogether.
    const bool unknown = goes_by_size && !run_.move_kinds[move.kind].cost;
    const double fixed =
        unknown && grounds_.undecided_here() ? whole : std::min(latency_of(move), whole);
    double now = transfer_ * (latency_ * fixed + (whole - fixed) / bandwidth_);
    if (!kept_.empty()) now *= kept_[move.step];
    duration = std::llround(now);
    before += whole;
    after += now;
  }
  return before <= 0 ? 1 : after / before;
}

std::string ChangedTransfers::take_bucket_cap(const Change& change) {
  std::map<std::pair<uint32_t, uint32_t>, std::vector<const Move*>> buckets;  // entry, step
  bool fitted = false;
  for (const Move& move : run_.moves) {
    const MoveKind& kind = run_.move_kinds[move.kind];
    if (!move.bucket || !kind.bytes || *kind.bytes <= 0) continue;
    buckets[{move.entry, move.step}].push_back(&move);
    fitted |= kind.cost.has_value();
  }
  if (buckets.empty()) return "no order of buckets was recorded: DDP's are known where it is used";
  if (!fitted) {
    return "no bucket is twice as large as another one: what a transfer costs by its size is not "
           "known";
  }
  for (auto& [where, moves] : buckets) {
    std::ranges::stable_sort(moves, {}, [](const Move* m) { return *m->bucket; });
    bucket_again(moves, change.bytes);
  }
  for (const MoveKind& kind : run_.move_kinds) {
    if (kind.cost && kind.gradients) grounds_.doubts(kind.cost->residual);
  }
  grounds_.rests("buckets are joined until they reach the cap, or divided; transfers by their fit");
  grounds_.err(
      "gradients of a bucket are taken to become ready evenly over the time that it fills");
  return {};
}

// Buckets in the order of their numbers, which is that of their transfers.
void ChangedTransfers::bucket_again(const std::vector<const Move*>& moves, int64_t cap) {
  double joined = 0;  // time of those that wait to be joined, without latency
  int64_t bytes = 0;
  for (size_t b = 0; b < moves.size(); ++b) {
    const Move& move = *moves[b];
    const auto whole = static_cast<double>(durations_[move.task]);
    const double fixed = std::min(latency_of(move), whole);
    const int64_t own = *run_.move_kinds[move.kind].bytes;
    bytes += own;
    joined += whole - fixed;
    if (bytes < cap && b + 1 < moves.size()) {
      durations_[move.task] = 0;
      continue;
    }
    const auto pieces = std::max<int64_t>(1, (own + cap - 1) / cap);
    double time = joined + fixed;
    if (bytes == own && pieces > 1)
      time = divided(move, b > 0 ? moves[b - 1] : nullptr, whole, fixed, pieces);
    durations_[move.task] = std::llround(time);
    joined = 0;
    bytes = 0;
  }
}

// From when all of a bucket is ready until its last piece is there: former pieces were sent while
// it filled, unless the bucket before was still on its way.
double ChangedTransfers::divided(const Move& move, const Move* former, double whole, double fixed,
                                 int64_t pieces) const {
  const auto k = static_cast<double>(pieces);
  const double each = (whole - fixed) / k + fixed;
  const int64_t began = known_.ends[move.task] - run_.durations[move.task];
  // Since when the first one fills is not known.
  if (former == nullptr && grounds_.undecided_here()) return each;
  double fill = 0;
  if (former != nullptr) {
    const int64_t free = known_.ends[former->task];
    if (began <= free) return k * each;  // it waited for the one before
    fill = static_cast<double>(began - std::max(free, free - run_.durations[former->task]));
  }
  return std::max(each, k * each - fill * (k - 1) / k);
}

std::string ChangedTransfers::take_accumulation(const Change& change) {
  if (std::ranges::none_of(run_.move_kinds, &MoveKind::gradients))
    return "no transfer is known to be one of gradients: DDP's buckets tell it";
  passes_ *= change.factor;
  grounds_.rests(
      "of so many passes one sends gradients and updates; a step is one pass, with as many samples as now");
  grounds_.err("it changes what is computed: the batch of an update is so many times larger");
  return {};
}

// Weak scaling: each rank does what it does, the last one of more ranks comes later.
std::string ChangedTransfers::take_world(const Change& change) {
  if (run_.ranks.size() < 2)
    return "there is only one rank: nothing shows what more ranks would wait for";
  if (run_.moves.empty()) return "no rank meets another one";
  // Trees have fewer hops than rings, and that the last of more comes later is not recorded.
  const bool trees = grounds_.undecided_here();
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
    // A ring: as many hops as there are others, each with its part of the bytes.
    const double hops =
        trees && n > 1 ? std::log2(more) / std::log2(n) : (more - 1) / std::max(1.0, n - 1);
    duration = std::llround(fixed * hops + (whole - fixed) * ((more - 1) / more) / ((n - 1) / n));
  }
  grounds_.doubts(kUnseen);
  if (!trees) longer_ns_ += later_of_more(change.factor);
  grounds_.rests(
      "each rank works as much as now; rings of that many more ranks; the last of more ranks, "
      "drawn from how these differ, comes later");
  grounds_.err(any_cost()
                   ? "new hosts are taken to be linked as the present ones are"
                   : "latency is not known and taken to be nothing: it promises too little loss");
  return {};
}

// What the last of so many times more ranks is later by: of what ranks did beyond the mean of
// their step. The expected largest of n draws from those that were seen.
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
