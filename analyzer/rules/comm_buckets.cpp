// SPDX-License-Identifier: Apache-2.0
// How gradient buckets are cut, when they are sent, and what hides them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analyzer/rules/comm.h"
#include "analyzer/rules/support.h"
#include "base/format.h"
#include "base/stats.h"

namespace dprof::analyzer::comm {
namespace {

constexpr double kLastBucketShare = 0.5;  // of the exposed time of all buckets
constexpr double kSmallShare = 0.5;       // of the collectives are below half of the bandwidth
constexpr double kFullLink = 0.8;         // of the best bandwidth of that size
constexpr double kOverlapNone = 0.05;
constexpr double kOrderShare = 0.02;
constexpr double kContention = 1.15;
constexpr double kHalfOfBytes = 0.5;  // 16 bits instead of 32

int64_t rounded(double ns) { return std::llround(ns); }

std::string cap_words(const BucketCap& cap) {
  return cap.cap_bytes
             ? fmt::format("bucket_cap_mb={:.3g}", static_cast<double>(*cap.cap_bytes) / (1 << 20))
             : std::string("one bucket for all gradients");
}

// The cap with the least exposure; nullptr where none was searched.
const BucketCap* best_cap(const Buckets& buckets) {
  const auto best = std::ranges::min_element(buckets.caps, {}, &BucketCap::exposed_ns);
  return best == buckets.caps.end() ? nullptr : &*best;
}

std::vector<const Instance*> instances_of(const RuleInput& input, bool (*chosen)(const Instance&)) {
  std::vector<const Instance*> instances = steady_instances(input);
  std::erase_if(instances, [&](const Instance* i) { return !chosen(*i); });
  return instances;
}

// The exposed transfers of a rank, median over ranks.
struct Exposed {
  int64_t transfer_ns = 0;
  int64_t hideable_ns = 0;  // of it
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

// What helps against transfers depends on what is transferred in a step: gradients by collectives,
// or messages from rank to rank.
std::string transfer_advice(const Report& report) {
  const auto in_steps = [](const auto& entry) { return entry.per_step.value_or(0) > 0; };
  const bool collectives = report.collectives && std::ranges::any_of(*report.collectives, in_steps);
  const bool messages =
      report.point_to_point && std::ranges::any_of(*report.point_to_point, in_steps);
  if (messages && !collectives) {
    return "more micro-batches in flight hide the messages of a pipeline; fewer bytes: 16-bit tensors; "
           "one server for all ranks: divide its parameters among several";
  }
  return "smaller buckets start earlier (bucket_cap_mb); fewer bytes: "
         "a larger batch, 16-bit gradients, no_sync while accumulating";
}

// The part of a bucket's exposed time in which data moved, at most. It is just that where what
// hides the bucket, the rest of backward, does so from its begin on: others are waited for first.
int64_t exposed_transfer_of(const BucketSummary& bucket) {
  return std::min(bucket.exposed_ns, bucket.transfer_ns);
}

}  // namespace

std::vector<Finding> exposed_tail(const RuleInput& input) {
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
  const BucketCap* best = best_cap(buckets);
  const bool modelled = best != nullptr && buckets.present_exposed_ns;
  const int64_t cost =
      modelled ? std::min(all, *buckets.present_exposed_ns - best->exposed_ns) : tail;
  if (share_of(input, cost) < kInfoShare) return {};
  Finding finding = priced(input, cost, modelled ? 0.6 : 0.4, "network");
  finding.title =
      fmt::format("the last gradient bucket hides behind nothing: {}", per_step(input, cost));
  finding.detail = fmt::format(
      "bucket {} of {}{} has {} of the {} of the buckets' transfers that no computation hides; the cost is {}",
      last.bucket, buckets.buckets.size(),
      last.bytes ? fmt::format(" ({})", format_bytes(*last.bytes)) : std::string(), ms(tail),
      ms(all),
      modelled ? std::string("what another size of buckets exposes less, by a model of the link")
               : std::string(kUpperBound));
  if (modelled) {
    finding.advice =
        fmt::format("{} (now {} buckets): {} exposed instead of {}, by the model", cap_words(*best),
                    buckets.buckets.size(), ms(best->exposed_ns), ms(*buckets.present_exposed_ns));
  }
  finding.decided_by = {
      fmt::format("exposed transfer, without waiting for others: {} in all buckets, {} in the last",
                  ms(all), ms(tail))};
  finding.refuted_by = {"a run with that bucket size that is no faster",
                        "computation after backward that could run beside the last bucket"};
  finding.evidence = evidence_of(
      input, instances_of(input, [](const Instance& i) { return i.bucket.has_value(); }));
  return {std::move(finding)};
}

std::vector<Finding> small_messages(const RuleInput& input) {
  if (!input.report.link_fits || !input.report.collectives) return {};
  double latency_ns = 0;  // per step
  double all = 0;
  double small = 0;
  std::string words;
  for (const CollectiveSummary& c : *input.report.collectives) {
    const double per = c.per_step.value_or(0);
    if (per <= 0 || !c.bytes) continue;
    const auto fit = std::ranges::find_if(*input.report.link_fits, [&](const LinkFit& f) {
      return f.communicator == c.communicator && f.function == c.function;
    });
    if (fit == input.report.link_fits->end()) continue;
    all += per;
    if (static_cast<double>(*c.bytes) >= fit->half_bytes) continue;
    small += per;
    latency_ns += per * fit->alpha_ns;
    if (words.empty()) {
      words = fmt::format("{} of {}: {} each, half of the bandwidth is reached at {}",
                          word_of(c.function), c.communicator, format_bytes(*c.bytes),
                          format_bytes(rounded(fit->half_bytes)));
    }
  }
  const std::optional<Exposed> exposed = exposed_of(input);
  if (all < 2 || small < kSmallShare * all || !exposed) return {};
  // One call stays; what is hidden costs nothing.
  const int64_t cost =
      std::min(rounded(latency_ns * (small - 1) / std::max(1.0, small)), exposed->transfer_ns);
  if (share_of(input, rounded(latency_ns)) < kWarnShare || share_of(input, cost) < kInfoShare)
    return {};
  Finding finding = priced(input, cost, 0.4, "network");
  finding.title = fmt::format("{:.0f} small collectives a step pay latency, not bandwidth: {}",
                              small, per_step(input, cost));
  finding.detail = fmt::format("{}; the cost is {}", words, kUpperBound);
  finding.decided_by = {
      fmt::format("{:.0f} of {:.0f} collectives a step are below half of the bandwidth", small,
                  all),
      fmt::format("their fitted latency is {} per step", ms(rounded(latency_ns)))};
  finding.refuted_by = {"a run in which they are put together that is no faster"};
  finding.evidence = evidence_of(
      input, instances_of(input, [](const Instance& i) { return i.bytes.value_or(0) > 0; }));
  return {std::move(finding)};
}

std::vector<Finding> link_saturated(const RuleInput& input) {
  const std::optional<Exposed> exposed = exposed_of(input);
  if (!exposed || !input.report.collectives) return {};
  double transfer_ns = 0;  // per step, of gradients
  double bytes = 0;
  double efficiency = 0;
  for (const CollectiveSummary& c : *input.report.collectives) {
    const double per = c.per_step.value_or(0);
    if (per <= 0 || !c.bytes || !reduces(c.function) || !c.efficiency) continue;
    const double time = per * static_cast<double>(c.transfer_ns);
    transfer_ns += time;
    bytes += per * static_cast<double>(*c.bytes);
    efficiency += *c.efficiency * time;
  }
  const int64_t backward = median_of(times_of(input, Category::kBackward)) +
                           median_of(times_of(input, Category::kOverlapped));
  if (transfer_ns <= 0 || backward <= 0 || transfer_ns <= static_cast<double>(backward) ||
      efficiency / transfer_ns < kFullLink) {
    return {};
  }
  const auto cost = rounded(kHalfOfBytes * static_cast<double>(exposed->transfer_ns));
  if (share_of(input, cost) < kInfoShare) return {};
  Finding finding = priced(input, cost, 0.5, "network");
  finding.title = fmt::format("the link is full: gradients move for longer than backward lasts, {}",
                              per_step(input, cost));
  finding.detail = fmt::format(
      "{} a step take {}, backward {}; no size of buckets hides that. "
      "The cost is what half of the bytes would expose less, {}",
      format_bytes(rounded(bytes)), ms(rounded(transfer_ns)), ms(backward), kUpperBound);
  finding.decided_by = {fmt::format("transfers of gradients {} against backward {}",
                                    ms(rounded(transfer_ns)), ms(backward)),
                        fmt::format("at {} of the best bandwidth of their size",
                                    format_share(efficiency / transfer_ns))};
  finding.refuted_by = {"a run with 16-bit gradients that is no faster",
                        "a test of the network that reaches far more than these collectives do"};
  finding.evidence = evidence_of(
      input, instances_of(input, [](const Instance& i) { return reduces(i.function); }));
  return {std::move(finding)};
}

std::vector<Finding> no_overlap(const RuleInput& input) {
  const std::optional<Exposed> exposed = exposed_of(input);
  if (!exposed || exposed->hidden_share >= kOverlapNone) return {};
  const std::vector<const Instance*> gradients =
      instances_of(input, [](const Instance& i) { return reduces(i.function); });
  const auto per = static_cast<double>(gradients.size()) /
                   static_cast<double>(std::max<int64_t>(1, steady_steps(input)));
  const int64_t cost = exposed->hideable_ns;
  if (per < 0.5 || share_of(input, cost) < kInfoShare) return {};
  const bool one = per < 1.5;
  Finding finding = priced(input, cost, 0.4, "network");
  finding.title = fmt::format("communication and computation never run side by side: {}",
                              per_step(input, cost));
  finding.detail = fmt::format("{} of the communication is hidden, with {}; the cost is {}",
                               format_share(exposed->hidden_share),
                               one ? std::string("one reduction of gradients a step")
                                   : fmt::format("{:.0f} reductions of gradients a step", per),
                               kUpperBound);
  finding.advice =
      one ? "one bucket can only be sent when the last gradient is there: a smaller bucket_cap_mb makes several"
          : "let DistributedDataParallel reduce during backward, or start the collectives with async_op=True and wait for them before the optimizer";
  finding.decided_by = {
      fmt::format("overlap {} over {} ranks, {:.1f} reductions a step",
                  format_share(exposed->hidden_share), exposed->ranks, per),
      fmt::format("{} of the exposed transfer had computation left that could have hidden it",
                  ms(cost))};
  finding.refuted_by = {"computation after the first gradients that needs all of them"};
  finding.evidence = evidence_of(input, gradients);
  return {std::move(finding)};
}

std::vector<Finding> order_blocked(const RuleInput& input) {
  const std::optional<Exposed> exposed = exposed_of(input);
  if (!input.report.buckets || !exposed) return {};
  int64_t delay = 0;
  const BucketSummary* worst = nullptr;
  for (const BucketSummary& bucket : input.report.buckets->buckets) {
    const int64_t own = bucket.order_delay_ns.value_or(0);
    delay += own;
    if (worst == nullptr || own > worst->order_delay_ns.value_or(0)) worst = &bucket;
  }
  if (worst == nullptr || share_of(input, delay) < kOrderShare) return {};
  const int64_t cost = std::min(delay, exposed->transfer_ns);
  if (share_of(input, cost) < kInfoShare) return {};
  Finding finding = priced(input, cost, 0.4, "network");
  finding.title =
      fmt::format("gradient buckets are ready and wait for their turn: {}", per_step(input, cost));
  finding.detail =
      fmt::format("bucket {} is ready {} before it may be sent; {} in all; the cost is {}",
                  worst->bucket, ms(worst->order_delay_ns.value_or(0)), ms(delay), kUpperBound);
  finding.decided_by = {fmt::format("from ready until called, summed over {} buckets: {}",
                                    input.report.buckets->buckets.size(), ms(delay))};
  finding.refuted_by = {
      "a run with parameters made in the order in which forward uses them that is no faster"};
  finding.evidence = evidence_of(
      input, instances_of(input, [](const Instance& i) { return i.bucket.has_value(); }));
  return {std::move(finding)};
}

// The flag costs a walk over the graph in each step and, where it never finds any, brings nothing:
// whether it does is seen by all parameters being in buckets that were reduced in each step.
std::vector<Finding> find_unused(const RuleInput& input) {
  std::vector<int> ranks;
  for (const RankDigest& digest : input.digests) {
    if (digest.facts.find_unused.value_or(false)) ranks.push_back(digest.rank);
  }
  if (ranks.empty() || !is_most(ranks.size(), input.digests.size())) return {};
  // An all-reduce of the bitmap of used parameters: bytes or 32-bit integers.
  const std::vector<const Instance*> instances = instances_of(input, [](const Instance& i) {
    return i.function == schema::Function::kAllReduce && !i.bucket;
  });
  std::vector<const Instance*> bitmaps;
  int64_t transfer = 0;
  for (const Instance* i : instances) {
    if (i->members.empty()) continue;
    const schema::DataType type = record_of(input, i->members.front()).dtype;
    if (type != schema::DataType::kInt32 && type != schema::DataType::kUint8) continue;
    bitmaps.push_back(i);
    transfer += i->transfer_ns;
  }
  const int64_t cost = transfer / std::max<int64_t>(1, steady_steps(input));
  Finding finding = priced(input, cost, 0.5, "network");
  finding.ranks = ranks;
  finding.title = fmt::format("find_unused_parameters is on: {}", per_step(input, cost));
  finding.detail = fmt::format(
      "{} reductions of the map of used parameters in {} steps; "
      "the walk over the graph in each step comes on top, and buckets are never put in order of use",
      bitmaps.size(), steady_steps(input));
  finding.decided_by = {"DDP's Reducer was seen at searching the graph for unused parameters"};
  finding.refuted_by = {"a model whose branches use other parameters in other steps"};
  finding.evidence = bitmaps.empty() ? steps_evidence(input, ranks) : evidence_of(input, bitmaps);
  return {std::move(finding)};
}

std::vector<Finding> contention(const RuleInput& input) {
  if (!input.report.contention) return {};
  const Contention& c = *input.report.contention;
  // A factor within the operators' spread is no factor.
  if (c.factor <= kContention || c.factor - 1 <= c.spread ||
      share_of(input, c.hidden_cost_ns) < kInfoShare) {
    return {};
  }
  Finding finding = priced(input, c.hidden_cost_ns, 0.4, "network");
  finding.title = fmt::format("collectives slow the computation beside them: {}",
                              per_step(input, c.hidden_cost_ns));
  finding.detail = fmt::format("operators take {:.2f} times as long beside a collective; {}",
                               c.factor, kUpperBound);
  const bool gpu =
      std::ranges::any_of(input.digests, [](const RankDigest& d) { return !d.gpu.empty(); });
  finding.advice =
      gpu ? "fewer channels for NCCL (NCCL_MAX_CTAS), a stream of lower priority for it, larger chunks of computation"
          : "keep a core for the communication's threads: fewer threads for operators "
            "(OMP_NUM_THREADS), or ranks bound to cores";
  finding.decided_by = {fmt::format(
      "median of {} operators that ran both beside collectives and alone: {:.2f}, spread {:.2f}",
      c.operators, c.factor, c.spread)};
  finding.refuted_by = {"a run without collectives in which the same operators take as long"};
  std::vector<int> ranks;
  for (const RankDigest& digest : input.digests) ranks.push_back(digest.rank);
  finding.evidence = steps_evidence(input, ranks);
  return {std::move(finding)};
}

std::vector<Finding> exposed_transfer(const RuleInput& input) {
  const std::optional<Exposed> exposed = exposed_of(input);
  if (!exposed || share_of(input, exposed->transfer_ns) < kInfoShare) return {};
  const int64_t cost = exposed->transfer_ns;
  Finding finding = priced(input, cost, 0.3, "network");
  finding.title = fmt::format("transfers that nothing hides: {}", per_step(input, cost));
  finding.detail = fmt::format("{} of the communication is hidden; the cost is {}",
                               format_share(exposed->hidden_share), kUpperBound);
  finding.advice = transfer_advice(input.report);
  finding.decided_by = {fmt::format(
      "median over {} ranks of the time in which a collective moved data after its last member had come and no computation ran beside it: "
      "{}",
      exposed->ranks, ms(cost))};
  finding.refuted_by = {
      "a run with the collectives taken out, or on a faster network, that is no faster"};
  finding.evidence =
      evidence_of(input, instances_of(input, [](const Instance& i) { return i.comparable; }));
  return {std::move(finding)};
}

}  // namespace dprof::analyzer::comm
