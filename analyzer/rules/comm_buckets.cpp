// SPDX-License-Identifier: Apache-2.0
// How gradient buckets are divided, when they are sent, and what hides them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyzer/rules/families.h"
#include "analyzer/rules/support.h"
#include "base/format.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr double kLastBucketShare = 0.5;  // of the exposed time of all buckets
constexpr double kSmallShare = 0.5;       // of the collectives are below half of the bandwidth
constexpr double kFullLink = 0.8;         // of the best bandwidth of that size
constexpr double kOverlapNone = 0.05;
constexpr double kOrderShare = 0.02;
constexpr double kContention = 1.15;
constexpr double kHalfOfBytes = 0.5;            // 16 bits instead of 32
constexpr int64_t kFirstBucketBytes = 1 << 20;  // PyTorch's own cap of the first bucket

int64_t rounded(double ns) { return std::llround(ns); }

std::string cap_words(const BucketCap& cap) {
  return cap.cap_bytes
             ? fmt::format("bucket_cap_mb={:.3g}", static_cast<double>(*cap.cap_bytes) / (1 << 20))
             : std::string("one bucket for all gradients");
}

// The cap with the least exposure; nullptr if none was searched.
const BucketCap* best_cap(const Buckets& buckets) {
  const auto best = std::ranges::min_element(buckets.caps, {}, &BucketCap::exposed_ns);
  return best == buckets.caps.end() ? nullptr : &*best;
}

// The exposed transfers of a rank, median over ranks.
struct Exposed {
  int64_t transfer_ns = 0;
  int64_t hideable_ns = 0;  // part of it
  double hidden_share = 0;  // of all communication
  size_t ranks = 0;
};
std::optional<Exposed> exposed_of(const RuleInput& input) {
  const int64_t steps = steady_steps(input);
  if (!input.report.overlap || steps <= 0 || input.report.overlap->per_rank.empty())
    return std::nullopt;
  Exposed exposed;
  std::vector<int64_t> transfers;
  std::vector<int64_t> hideable;
  int64_t hidden = 0;
  int64_t total = 0;
  for (const RankOverlap& rank : input.report.overlap->per_rank) {
    transfers.push_back(rank.exposed_transfer_ns / steps);
    hideable.push_back(rank.hideable_ns.value_or(0) / steps);
    hidden += rank.hidden_ns;
    total += rank.hidden_ns + rank.exposed_transfer_ns;
  }
  exposed.ranks = transfers.size();
  exposed.transfer_ns = median_ns(std::move(transfers));
  exposed.hideable_ns = median_ns(std::move(hideable));
  exposed.hidden_share = total == 0 ? 0 : static_cast<double>(hidden) / static_cast<double>(total);
  return exposed;
}

// Whether a lower bucket_cap_mb could split a reduction: no bucket below 1 MiB is ever split.
bool can_be_split(const Report& report) {
  if (!report.collectives) return true;
  bool known = false;
  for (const CollectiveSummary& c : *report.collectives) {
    if (c.per_step.value_or(0) <= 0 || !reduces(c.function)) continue;
    if (!c.bytes || *c.bytes >= kFirstBucketBytes) return true;
    known = true;
  }
  return !known;
}

// Advice on transfers depends on their contents: gradients in collectives, or messages between
// ranks.
std::string transfer_advice(const Report& report) {
  const auto in_steps = [](const auto& entry) { return entry.per_step.value_or(0) > 0; };
  const bool collectives = report.collectives && std::ranges::any_of(*report.collectives, in_steps);
  const bool messages =
      report.point_to_point && std::ranges::any_of(*report.point_to_point, in_steps);
  if (messages && !collectives) {
    return "keep more micro-batches in flight to hide a pipeline's messages; send 16-bit tensors; "
           "with one server for all ranks, split its parameters over several";
  }
  if (!can_be_split(report))
    return "send fewer bytes: a larger batch, 16-bit gradients, no_sync() while accumulating";
  return "lower bucket_cap_mb so that transfers start earlier; then send fewer bytes: "
         "a larger batch, 16-bit gradients, no_sync() while accumulating";
}

// Upper bound of a bucket's exposed time in which data moved. Exact if the rest of backward hides
// the bucket from its begin on: waits are then hidden first.
int64_t exposed_transfer_of(const BucketSummary& bucket) {
  return std::min(bucket.exposed_ns, bucket.transfer_ns);
}

bool is_of_bucket(const Instance& i) { return i.bucket.has_value(); }
bool is_of_gradients(const Instance& i) { return reduces(i.function); }

// The flag costs a traversal of the graph in each step, and is useless if no parameter is ever
// unused: that is the case if the buckets reduced in each step contain all parameters.
std::optional<Measured> find_unused(const RuleInput& input) {
  std::vector<int> ranks;
  for (const RankDigest& digest : input.digests) {
    if (digest.facts.find_unused.value_or(false)) ranks.push_back(digest.rank);
  }
  if (ranks.empty() || !is_most(ranks.size(), input.digests.size())) return {};
  // An all-reduce of the bitmap of used parameters: bytes or 32-bit integers.
  const std::vector<const Instance*> bitmaps = steady_instances(input, [&](const Instance& i) {
    if (i.function != schema::Function::kAllReduce || i.bucket || i.members.empty()) return false;
    const schema::DataType type = record_of(input, i.members.front()).dtype;
    return type == schema::DataType::kInt32 || type == schema::DataType::kUint8;
  });
  const int64_t transfer = largest_share(input, bitmaps).transfer_ns;
  Measured measured{.cost_ns = transfer / std::max<int64_t>(1, steady_steps(input)),
                    .ranks = ranks,
                    .figures = {{"bitmaps", bitmaps.size()}, {"steps", steady_steps(input)}}};
  if (!bitmaps.empty()) measured.evidence = evidence_of(input, bitmaps);
  return measured;
}

// What lets gradients be reduced while backward runs. `sharded`: by reduce-scatters, as FSDP does.
std::string_view overlap_advice(bool sharded, bool one, bool can_be_split) {
  if (sharded) {
    return one ? "wrap each layer by itself (fully_shard, auto_wrap_policy): a single unit is reduced only once its last gradient is ready"
               : "let one unit's reduce-scatter run during the backward of the next: wrap layers of equal size, and do not wait for it in a hook; a backend that reduces synchronously cannot overlap";
  }
  if (!one)
    return "let DistributedDataParallel reduce during backward, or start the collectives with async_op=True and wait for them just before the optimizer";
  return can_be_split
             ? "lower bucket_cap_mb: a single bucket can be sent only once the last gradient is ready"
             : "use a larger batch, or accumulate gradients under no_sync(): a bucket below 1 MiB is never split";
}

std::optional<Measured> no_overlap(const RuleInput& input) {
  const std::optional<Exposed> exposed = exposed_of(input);
  if (!exposed || exposed->hidden_share >= kOverlapNone) return {};
  const std::vector<const Instance*> gradients = steady_instances(input, is_of_gradients);
  const double per =
      ratio(largest_share(input, gradients).calls, std::max<int64_t>(1, steady_steps(input)));
  if (per < 0.5) return {};
  const bool one = per < 1.5;
  const bool sharded = std::ranges::all_of(gradients, [](const Instance* i) {
    return i->function == schema::Function::kReduceScatter && !i->bucket;
  });
  return Measured{
      .cost_ns = exposed->hideable_ns,
      .figures = {{"hidden", format_share(exposed->hidden_share)},
                  {"reductions", one ? std::string("one gradient reduction per step")
                                     : fmt::format("{:.0f} gradient reductions per step", per)},
                  {"per step", fmt::format("{:.1f}", per)},
                  {"over", exposed->ranks}},
      .evidence = evidence_of(input, gradients),
      .advice = std::string(overlap_advice(sharded, one, can_be_split(input.report)))};
}

std::optional<Measured> order_blocked(const RuleInput& input) {
  const std::optional<Exposed> exposed = exposed_of(input);
  if (!input.report.buckets || !exposed) return {};
  const std::vector<BucketSummary>& buckets = input.report.buckets->buckets;
  const auto delay_of = [](const BucketSummary& b) { return b.order_delay_ns.value_or(0); };
  int64_t delay = 0;
  for (const BucketSummary& bucket : buckets) delay += delay_of(bucket);
  if (buckets.empty() || share_of(input, delay) < kOrderShare) return {};
  const BucketSummary& worst = *std::ranges::max_element(buckets, {}, delay_of);
  return Measured{.cost_ns = std::min(delay, exposed->transfer_ns),
                  .figures = {{"bucket", worst.bucket},
                              {"worst", ms(delay_of(worst))},
                              {"delay", ms(delay)},
                              {"buckets", buckets.size()}},
                  .evidence = evidence_of(input, steady_instances(input, is_of_bucket))};
}

std::optional<Measured> exposed_tail(const RuleInput& input) {
  if (!input.report.buckets || input.report.buckets->buckets.size() < 2) return {};
  const Buckets& buckets = *input.report.buckets;
  int64_t all = 0;
  for (const BucketSummary& bucket : buckets.buckets) all += exposed_transfer_of(bucket);
  const BucketSummary& last = buckets.buckets.back();
  const int64_t tail = exposed_transfer_of(last);
  if (share_of(input, all) < kWarnShare ||
      static_cast<double>(tail) < kLastBucketShare * static_cast<double>(all)) {
    return {};
  }
  Measured measured{
      .cost_ns = tail,
      .figures = {{"last", last.bucket},
                  {"buckets", buckets.buckets.size()},
                  {"bytes", last.bytes ? fmt::format(" ({})", format_bytes(*last.bytes)) : ""},
                  {"tail", ms(tail)},
                  {"all", ms(all)}},
      .evidence = evidence_of(input, steady_instances(input, is_of_bucket))};
  const BucketCap* best = best_cap(buckets);
  if (best == nullptr || !buckets.present_exposed_ns) return measured;
  const int64_t present = *buckets.present_exposed_ns;
  measured.cost_ns = std::min(all, present - best->exposed_ns);
  measured.confidence = 0.6;
  // Replaces the bound.
  measured.figures.emplace_back(
      "upper bound", "the exposure that another bucket size would save, by a model of the link");
  measured.advice =
      fmt::format("{} (now {} buckets): {} exposed instead of {}, by the model", cap_words(*best),
                  buckets.buckets.size(), ms(best->exposed_ns), ms(present));
  return measured;
}

// Collectives of a rank's steady step that are below the size that reaches half of the bandwidth.
struct SmallMessages {
  double latency_ns = 0;
  double all = 0;
  double small = 0;
  std::string first;
};
SmallMessages small_messages_in(std::span<const CollectiveSummary* const> collectives,
                                std::span<const LinkFit> fits) {
  SmallMessages found;
  for (const CollectiveSummary* c : collectives) {
    const auto fit = std::ranges::find_if(fits, [&](const LinkFit& f) {
      return f.communicator == c->communicator && f.function == c->function;
    });
    if (!c->bytes || fit == fits.end()) continue;
    const double per = *c->per_step;
    found.all += per;
    if (static_cast<double>(*c->bytes) >= fit->half_bytes) continue;
    found.small += per;
    found.latency_ns += per * fit->alpha_ns;
    if (found.first.empty()) {
      found.first = fmt::format("{} of {}: {} each; half of the bandwidth is reached only at {}",
                                word_of(c->function), c->communicator, format_bytes(*c->bytes),
                                format_bytes(rounded(fit->half_bytes)));
    }
  }
  return found;
}

std::optional<Measured> small_messages(const RuleInput& input) {
  const std::optional<Exposed> exposed = exposed_of(input);
  if (!input.report.link_fits || !exposed) return {};
  SmallMessages most;
  for (const auto& collectives : collectives_by_rank(input)) {
    SmallMessages found = small_messages_in(collectives, *input.report.link_fits);
    if (found.latency_ns > most.latency_ns) most = std::move(found);
  }
  if (most.all < 2 || most.small < kSmallShare * most.all) return {};
  // One call remains; hidden time costs nothing.
  const int64_t cost =
      std::min(rounded(most.latency_ns * (most.small - 1) / std::max(1.0, most.small)),
               exposed->transfer_ns);
  if (share_of(input, rounded(most.latency_ns)) < kWarnShare) return {};
  return Measured{.cost_ns = cost,
                  .figures = {{"small", fmt::format("{:.0f}", most.small)},
                              {"all", fmt::format("{:.0f}", most.all)},
                              {"first", most.first},
                              {"latency", ms(rounded(most.latency_ns))}},
                  .evidence = evidence_of(input, steady_instances(input, [](const Instance& i) {
                                            return i.bytes.value_or(0) > 0;
                                          }))};
}

// Reductions of a rank's steady step with a known efficiency.
struct Reductions {
  double transfer_ns = 0;
  double bytes = 0;
  double efficiency = 0;  // weighted by transfer_ns
};
Reductions reductions_in(std::span<const CollectiveSummary* const> collectives) {
  Reductions found;
  for (const CollectiveSummary* c : collectives) {
    if (!c->bytes || !reduces(c->function) || !c->efficiency) continue;
    const double time = *c->per_step * static_cast<double>(c->transfer_ns);
    found.transfer_ns += time;
    found.bytes += *c->per_step * static_cast<double>(*c->bytes);
    found.efficiency += *c->efficiency * time;
  }
  return found;
}

std::optional<Measured> link_saturated(const RuleInput& input) {
  const std::optional<Exposed> exposed = exposed_of(input);
  if (!exposed) return {};
  Reductions most;
  for (const auto& collectives : collectives_by_rank(input)) {
    const Reductions found = reductions_in(collectives);
    if (found.transfer_ns > most.transfer_ns) most = found;
  }
  const int64_t backward = median_of(times_of(input, Category::kBackward)) +
                           median_of(times_of(input, Category::kOverlapped));
  if (most.transfer_ns <= 0 || backward <= 0 || most.transfer_ns <= static_cast<double>(backward) ||
      most.efficiency / most.transfer_ns < kFullLink) {
    return {};
  }
  return Measured{.cost_ns = rounded(kHalfOfBytes * static_cast<double>(exposed->transfer_ns)),
                  .figures = {{"bytes", format_bytes(rounded(most.bytes))},
                              {"transfer", ms(rounded(most.transfer_ns))},
                              {"backward", ms(backward)},
                              {"efficiency", format_share(most.efficiency / most.transfer_ns)}},
                  .evidence = evidence_of(input, steady_instances(input, is_of_gradients))};
}

std::optional<Measured> contention(const RuleInput& input) {
  if (!input.report.contention) return {};
  const Contention& c = *input.report.contention;
  // A factor within the operators' spread is not significant.
  if (c.factor <= kContention || c.factor - 1 <= c.spread) return {};
  const bool gpu =
      std::ranges::any_of(input.digests, [](const RankDigest& d) { return !d.gpu.empty(); });
  std::vector<int> ranks;
  for (const RankDigest& digest : input.digests) ranks.push_back(digest.rank);
  return Measured{
      .cost_ns = c.hidden_cost_ns,
      .figures = {{"factor", fmt::format("{:.2f}", c.factor)},
                  {"spread", fmt::format("{:.2f}", c.spread)},
                  {"operators", c.operators}},
      .evidence = steps_evidence(input, ranks),
      .advice =
          gpu ? "give NCCL fewer channels (NCCL_MAX_CTAS) or a low-priority stream; compute in larger chunks"
              : "leave a core for the communication threads: use fewer threads for operators "
                "(OMP_NUM_THREADS), or bind ranks to cores"};
}

std::optional<Measured> exposed_transfer(const RuleInput& input) {
  const std::optional<Exposed> exposed = exposed_of(input);
  if (!exposed) return {};
  return Measured{
      .cost_ns = exposed->transfer_ns,
      .figures = {{"hidden", format_share(exposed->hidden_share)}, {"over", exposed->ranks}},
      .evidence = evidence_of(
          input, steady_instances(input, [](const Instance& i) { return i.comparable; })),
      .advice = transfer_advice(input.report)};
}

}  // namespace

constexpr Rule kFindUnused = {
    .name = "comm.find-unused",
    .finds = "DDP searches the graph for unused parameters in every step",
    .costs = "transfers of the used-parameter map; the search itself is not recorded",
    .guard = "the flag had no visible effect on most ranks",
    .advice =
        "set find_unused_parameters=False if every parameter gets a gradient, or "
        "static_graph=True if the graph never changes",
    .judged = {.cause = "network", .confidence = 0.5},
    .title = "DDP searches for unused parameters in every step (find_unused_parameters): {cost}",
    .detail =
        "{bitmaps} reductions of the used-parameter map in {steps} steps; "
        "the search itself costs extra, and buckets are never reordered",
    .decided_by = {"DDP's Reducer searched the graph for unused parameters"},
    .refuted_by = {"a model that uses different parameters in different steps"},
    .measure = find_unused};

constexpr Rule kNoOverlap = {
    .name = "comm.no-overlap",
    .finds =
        "less than 5 % of the communication is hidden, although there was computation to hide it",
    .costs = "upper bound: the hideable part of the exposed transfer",
    .guard = "no gradient reduction in the steps; below {at least} of the step",
    .suppressed_by =
        "comm.gloo-on-gpu, comm.sync-each-microbatch, comm.slow-group, comm.blocking-wait, host.false-dependency",
    .advice = "start the reductions during backward",
    .removed_by = "overlap=full",
    .judged = {.cause = "network", .confidence = 0.4, .at_least = kInfoShare},
    .title = "communication does not overlap computation: {cost}",
    .detail =
        "{hidden} of the communication is hidden, with {reductions}; the cost is {upper bound}",
    .decided_by = {"overlap {hidden} over {over} ranks, {per step} reductions per step",
                   "there was computation to hide {ms} of the exposed transfer"},
    .refuted_by = {"computation that needs all gradients before it can start"},
    .measure = no_overlap};

constexpr Rule kOrderBlocked = {
    .name = "comm.order-blocked",
    .finds = "ready buckets wait for lower ones for at least 2 % of the step in total",
    .costs = "upper bound: that time, at most the exposed transfer",
    .guard =
        "the time at which buckets became ready was not recorded; below {at least} of the step",
    .suppressed_by = "comm.find-unused",
    .advice =
        "construct the layers in the order in which forward uses them; "
        "turn off find_unused_parameters, so that DDP can reorder buckets; or set static_graph=True",
    .judged = {.cause = "network", .confidence = 0.4, .at_least = kInfoShare},
    .title = "ready gradient buckets wait for their turn: {cost}",
    .detail =
        "bucket {bucket} is ready {worst} before it may be sent; {delay} over all buckets; the cost is {upper bound}",
    .decided_by = {"time from ready to sent, summed over {buckets} buckets: {delay}"},
    .refuted_by = {"a run with parameters constructed in the order of use that is no faster"},
    .measure = order_blocked};

constexpr Rule kExposedTail = {
    .name = "comm.exposed-tail",
    .finds =
        "bucket transfers are exposed for at least 3 % of the step, at least half of that in the last bucket",
    .costs =
        "by the bucket model: today's exposed time less that with the best cap; "
        "without a model, the last bucket's exposed transfer, an upper bound",
    .guard =
        "one bucket; the best cap gains less than {at least}; waiting for other ranks does not count",
    .suppressed_by =
        "comm.gloo-on-gpu, comm.sync-each-microbatch, comm.slow-group, comm.no-overlap, "
        "comm.order-blocked, comm.small-messages",
    .advice = "lower bucket_cap_mb, so that the last bucket is smaller and sent sooner",
    .judged = {.cause = "network", .confidence = 0.4, .at_least = kInfoShare},
    .title = "the last gradient bucket is fully exposed: {cost}",
    .detail =
        "bucket {last} of {buckets}{bytes} accounts for {tail} of the {all} of exposed bucket transfers; the cost is {upper bound}",
    .decided_by =
        {"exposed transfer, not counting waits for other ranks: {all} in all buckets, {tail} in the last"},
    .refuted_by = {"a run with that bucket size that is no faster",
                   "computation after backward that could overlap the last bucket"},
    .measure = exposed_tail};

constexpr Rule kSmallMessages = {
    .name = "comm.small-messages",
    .finds =
        "half of a step's collectives are too small for half of the bandwidth, and their latency is at least 3 % of the step",
    .costs = "upper bound: the latency of all but one of them, at most the exposed transfer",
    .guard = "no fitted link; fewer than two collectives per step",
    .suppressed_by =
        "comm.gloo-on-gpu, comm.sync-each-microbatch, comm.slow-group, comm.small-collectives",
    .advice =
        "use fewer and larger collectives: raise bucket_cap_mb, reduce many tensors in one call "
        "(coalescing), or flatten small tensors into one",
    .judged = {.cause = "network", .confidence = 0.4, .at_least = kInfoShare},
    .title = "{small} small collectives per step are bound by latency: {cost}",
    .detail = "{first}; the cost is {upper bound}",
    .decided_by = {"{small} of {all} collectives per step are too small for half of the bandwidth",
                   "their fitted latency is {latency} per step"},
    .refuted_by = {"a run with merged collectives that is no faster"},
    .measure = small_messages};

constexpr Rule kLinkSaturated = {
    .name = "comm.link-saturated",
    .finds =
        "gradient transfers take longer than backward, at 80 % or more of the best bandwidth seen for their size",
    .costs = "upper bound: half of the exposed transfer, as if half of the bytes were sent",
    .guard = "transfers shorter than backward; low bandwidth (comm.low-bandwidth)",
    .suppressed_by = "comm.gloo-on-gpu, comm.sync-each-microbatch, comm.slow-group",
    .advice =
        "send 16-bit gradients (a communication hook); or accumulate gradients under no_sync(), or use a larger batch or a faster network",
    .removed_by = "transfer*0.5",
    .judged = {.cause = "network", .confidence = 0.5, .at_least = kInfoShare},
    .title = "the link is saturated: gradient transfers take longer than backward, {cost}",
    .detail =
        "{bytes} per step take {transfer}, backward {backward}; no bucket size can hide that. "
        "The cost is the exposure that half of the bytes would save, {upper bound}",
    .decided_by = {"gradient transfers take {transfer}, backward {backward}",
                   "they run at {efficiency} of the best bandwidth seen for their size"},
    .refuted_by = {"a run with 16-bit gradients that is no faster",
                   "a network benchmark that is far faster than these collectives"},
    .measure = link_saturated};

constexpr Rule kSlowedByCollectives = {
    .name = "comm.contention",
    .finds = "operators take at least 1.15 times as long while a collective runs",
    .costs = "upper bound: the extra time of computation that overlaps collectives",
    .guard = "a factor within the operators' own spread; below {at least} of the step",
    .advice = "give the communication fewer channels, or its own cores",
    .judged = {.cause = "network", .confidence = 0.4, .at_least = kInfoShare},
    .title = "collectives slow down the computation they overlap: {cost}",
    .detail = "operators take {factor} times as long while a collective runs; {upper bound}",
    .decided_by =
        {"median over {operators} operators that ran both with and without a collective: {factor}, spread {spread}"},
    .refuted_by = {"a run without collectives in which the same operators take just as long"},
    .measure = contention};

constexpr Rule kExposedTransfer = {
    .name = "comm.exposed-transfer",
    .finds = "exposed transfers of any kind",
    .costs =
        "gain of a replay with transfer=0; without one an upper bound: median over ranks of the exposed transfer",
    .guard = "below {at least} of the step",
    .suppressed_by =
        "comm.gloo-on-gpu, comm.slow-group, comm.sync-each-microbatch, comm.server-bottleneck, "
        "comm.no-overlap, comm.order-blocked, comm.exposed-tail, comm.small-messages, "
        "comm.link-saturated, comm.low-bandwidth, comm.buffer-broadcast, comm.small-collectives, "
        "comm.gather-exposed, comm.all-to-all-imbalance, comm.blocking-wait, "
        "host.false-dependency, parallel.bubble",
    .advice = "overlap more, or send fewer bytes",
    .removed_by = "transfer=0",
    .judged = {.cause = "network", .confidence = 0.3, .at_least = kInfoShare},
    .title = "exposed communication: {cost}",
    .detail = "{hidden} of the communication overlaps computation; the cost is {upper bound}",
    .decided_by =
        {"median over {over} ranks of the time in which a collective moved data, after its last member had arrived, while nothing computed: "
         "{ms}"},
    .refuted_by = {"a run without the collectives, or on a faster network, that is no faster"},
    .measure = exposed_transfer};

}  // namespace dprof::analyzer
