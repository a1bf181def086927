// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/breakdown/bucket_model.h"
#include "analyzer/breakdown/communication.h"
#include "analyzer/breakdown/exposure.h"
#include "analyzer/breakdown/link_fit.h"
#include "base/format.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

using schema::Function;

// A kernel that begins this soon after its predecessor was waiting for it.
constexpr int64_t kLaunchNs = 20 * kNsPerUs;

// One rank's reduction of one bucket.
struct Part {
  int64_t bucket = 0;
  std::optional<int64_t> bytes;
  std::optional<TraceNs> ready;       // on the processor that computes: the host, or its GPU
  std::optional<TraceNs> host_ready;  // as recorded
  std::optional<TraceNs> called;
  TraceNs start;
  TraceNs end;
  int64_t transfer_ns = 0;
  int64_t wait_ns = 0;
  int64_t exposed_ns = 0;
};

// The buckets of one backward of one rank, in the order of their reduction.
struct Pass {
  size_t rank_step = 0;  // which (rank, step) it belongs to
  std::vector<Part> parts;
  std::optional<TraceNs> backward_end;

  // The model's input; nullopt = not completely recorded.
  [[nodiscard]] std::optional<std::vector<ReadyBytes>> gradients() const {
    if (!backward_end) return std::nullopt;
    std::vector<ReadyBytes> all;
    for (const Part& part : parts) {
      if (!part.ready || !part.bytes) return std::nullopt;
      all.push_back({part.ready->ns, *part.bytes});
    }
    return all;
  }
};

// DDP's group: the one with the most reductions of buckets. nullopt = none names a bucket.
std::optional<size_t> group_of_buckets(const CommunicationInput& in) {
  std::map<size_t, int64_t> count;
  for (const size_t digest : in.steps.ranks) {
    const CollectiveRecords& records = in.digests[digest].collectives;
    for (size_t i = 0; i < records.size(); ++i) {
      if (bucket_of(in, digest, i).value_or(-1) >= 0)
        ++count[in.matching.group_of[digest][records[i].communicator]];
    }
  }
  if (count.empty()) return std::nullopt;
  return std::ranges::max_element(count, {}, [](const auto& entry) { return entry.second; })->first;
}

class PassCollector {
 public:
  PassCollector(const CommunicationInput& in, size_t group) : in_(in), group_(group) {}

  std::vector<Pass> run() {
    for (size_t r = 0; r < in_.steps.ranks.size(); ++r) {
      const std::vector<uint32_t>& groups = in_.matching.group_of[in_.steps.ranks[r]];
      if (std::ranges::count(groups, group_) > 0) add_rank(r);
    }
    return std::move(passes_);
  }

 private:
  void add_rank(size_t r) {
    const size_t digest = in_.steps.ranks[r];
    const RankTime time(in_.pieces[digest]);
    const std::span<const AlignedStep> steady = in_.steps.steady();
    const size_t first = passes_.size();
    const bool on_device = !in_.digests[digest].gpu.empty();
    TraceNs busy_until{INT64_MIN / 2};  // room for a sum
    for (const CommSpan& span : comm_spans(in_.digests, in_.matching, digest)) {
      const CollectiveRecord& record = in_.digests[digest].collectives[span.record];
      const int64_t bucket = bucket_of(in_, digest, span.record).value_or(-1);
      if (bucket < 0 || !record.end || in_.matching.group_of[digest][record.communicator] != group_)
        continue;
      const auto next = std::ranges::upper_bound(
          steady, span.span.begin, {}, [&](const AlignedStep& s) { return s.windows[r].begin; });
      if (next == steady.begin() || span.span.begin >= std::prev(next)->windows[r].end) continue;
      const auto step = static_cast<size_t>(next - steady.begin()) - 1;
      Part part = part_of(span, bucket, record, time);
      if (on_device) part.ready = ready_on_device(part, busy_until);
      busy_until = std::max(busy_until, part.end);
      add_part(first, r * steady.size() + step, part);
    }
    for (size_t p = first; p < passes_.size(); ++p) {
      Pass& pass = passes_[p];
      const Interval window = steady[pass.rank_step % steady.size()].windows[r];
      const bool first_of_step = p == first || passes_[p - 1].rank_step != pass.rank_step;
      const bool last_of_step =
          p + 1 == passes_.size() || passes_[p + 1].rank_step != pass.rank_step;
      // Backward returns when its buckets are reduced.
      pass.backward_end = time.backward_end(first_of_step ? window.begin : end_of(passes_[p - 1]),
                                            last_of_step ? window.end : end_of(pass));
    }
  }

  // The host runs ahead of its GPU. There a bucket begins as soon as it is ready, unless it had to
  // wait for the previous bucket: then its readiness is unknown.
  static std::optional<TraceNs> ready_on_device(const Part& part, TraceNs busy_until) {
    const bool queued = part.start < busy_until + DurationNs{kLaunchNs};
    return queued ? std::nullopt : std::optional(part.start);
  }

  static TraceNs end_of(const Pass& pass) {
    return std::ranges::max(pass.parts, {}, &Part::end).end;
  }

  static Part part_of(const CommSpan& span, int64_t bucket, const CollectiveRecord& record,
                      const RankTime& time) {
    const int64_t length = span.span.length().ns;
    const int64_t wait = std::clamp<int64_t>((span.arrive - span.span.begin).ns, 0, length);
    return {.bucket = bucket,
            .bytes = record.bytes,
            .ready = record.ready,
            .host_ready = record.ready,
            .called = record.enqueue,
            .start = span.span.begin,
            .end = span.span.end,
            .transfer_ns = length - wait,
            .wait_ns = wait,
            .exposed_ns = time.exposure(span.span, wait).exposed_ns()};
  }

  // A bucket that does not follow the previous one begins another backward.
  void add_part(size_t first_of_rank, size_t rank_step, const Part& part) {
    if (passes_.size() == first_of_rank || passes_.back().rank_step != rank_step ||
        passes_.back().parts.back().bucket >= part.bucket)
      passes_.push_back({.rank_step = rank_step, .parts = {}, .backward_end = {}});
    passes_.back().parts.push_back(part);
  }

  const CommunicationInput& in_;
  size_t group_;
  std::vector<Pass> passes_;
};

std::optional<int64_t> median_if_any(const std::vector<int64_t>& values) {
  return values.empty() ? std::nullopt : std::optional(median_ns(values));
}

std::vector<BucketSummary> summaries_of(const std::vector<Pass>& passes) {
  struct Samples {
    std::optional<int64_t> bytes;
    std::vector<int64_t> fill, order, queue, transfer, wait, exposed;
  };
  std::map<int64_t, Samples> by_bucket;
  for (const Pass& pass : passes) {
    for (size_t i = 0; i < pass.parts.size(); ++i) {
      const Part& part = pass.parts[i];
      Samples& samples = by_bucket[part.bucket];
      if (!samples.bytes) samples.bytes = part.bytes;
      if (part.ready && i > 0 && pass.parts[i - 1].ready)
        samples.fill.push_back(std::max<int64_t>(0, (*part.ready - *pass.parts[i - 1].ready).ns));
      if (part.host_ready && part.called)
        samples.order.push_back((*part.called - *part.host_ready).ns);
      if (part.called) samples.queue.push_back((part.start - *part.called).ns);
      samples.transfer.push_back(part.transfer_ns);
      samples.wait.push_back(part.wait_ns);
      samples.exposed.push_back(part.exposed_ns);
    }
  }
  std::vector<BucketSummary> summaries;
  for (const auto& [bucket, samples] : by_bucket) {
    summaries.push_back({.bucket = bucket,
                         .bytes = samples.bytes,
                         .n = static_cast<int64_t>(samples.transfer.size()),
                         .order_delay_ns = median_if_any(samples.order),
                         .queue_delay_ns = median_if_any(samples.queue),
                         .transfer_ns = median_ns(samples.transfer),
                         .wait_ns = median_ns(samples.wait),
                         .exposed_ns = median_ns(samples.exposed),
                         .fill_delay_ns = median_if_any(samples.fill)});
  }
  return summaries;
}

// The smallest size at which a full bucket was closed. The effect of a finer limit is unknown:
// within a bucket the times at which gradients became ready are not recorded.
int64_t finest_limit(const std::vector<Pass>& passes) {
  std::optional<int64_t> smallest_full;
  int64_t largest = 0;
  for (const Pass& pass : passes) {
    for (size_t i = 0; i < pass.parts.size(); ++i) {
      const int64_t bytes = pass.parts[i].bytes.value_or(0);
      largest = std::max(largest, bytes);
      if (i > 0 && i + 1 < pass.parts.size())
        smallest_full = std::min(smallest_full.value_or(bytes), bytes);
    }
  }
  return smallest_full.value_or(largest);
}

// Models each backward, and sums over those of one step and rank.
class Search {
 public:
  Search(const std::vector<Pass>& passes, const TransferCost& cost) : cost_(cost) {
    std::set<size_t> unknown;
    for (const Pass& pass : passes) {
      if (std::optional<std::vector<ReadyBytes>> gradients = pass.gradients()) {
        known_.push_back({pass.rank_step, *std::move(gradients), pass.backward_end->ns});
      } else {
        unknown.insert(pass.rank_step);
      }
    }
    std::erase_if(known_, [&](const Known& k) { return unknown.contains(k.rank_step); });
  }

  [[nodiscard]] bool empty() const { return known_.empty(); }

  void fill(Buckets& buckets, int64_t finest) {
    buckets.present_exposed_ns = per_step(
        [&](const Known& k) { return exposed_after(k.gradients, cost_, k.backward_end_ns); });
    for (Known& k : known_) std::ranges::stable_sort(k.gradients, {}, &ReadyBytes::ready_ns);
    buckets.bound_ns = per_step(
        [&](const Known& k) { return least_exposed_after(k.gradients, cost_, k.backward_end_ns); });
    for (const std::optional<int64_t>& cap : kBucketCaps) {
      if (cap && *cap < finest) continue;
      std::vector<int64_t> counts;
      const int64_t exposed = per_step([&](const Known& k) {
        const std::vector<ReadyBytes> layout = in_buckets(k.gradients, cap);
        counts.push_back(static_cast<int64_t>(layout.size()));
        return exposed_after(layout, cost_, k.backward_end_ns);
      });
      buckets.caps.push_back(
          {.cap_bytes = cap, .buckets = median_ns(std::move(counts)), .exposed_ns = exposed});
    }
  }

 private:
  struct Known {
    size_t rank_step;
    std::vector<ReadyBytes> gradients;
    int64_t backward_end_ns;
  };

  template <typename Model>
  int64_t per_step(Model model) const {
    std::map<size_t, double> of_step;
    for (const Known& k : known_) of_step[k.rank_step] += model(k);
    std::vector<int64_t> values;
    for (const auto& [step, ns] : of_step) values.push_back(static_cast<int64_t>(ns));
    return median_ns(std::move(values));
  }

  TransferCost cost_;
  std::vector<Known> known_;
};

bool any_all_reduce(const CommunicationInput& in) {
  return std::ranges::any_of(in.matching.instances,
                             [](const Instance& i) { return i.function == Function::kAllReduce; });
}

void search_caps(const CommunicationInput& in, size_t group, const std::vector<Pass>& passes,
                 Buckets& buckets, std::vector<Diagnostic>& diagnostics) {
  const auto say = [&](std::string text) {
    diagnostics.push_back(make_diagnostic("not_computed", std::move(text)));
  };
  const std::map<GroupFunction, LinearCost> costs = fit_costs(in.matching);
  const auto cost = costs.find({group, Function::kAllReduce});
  if (cost == costs.end()) {
    return say(fmt::format(
        "the best bucket size: "
        "estimating the cost of a size takes all-reduces of {} sizes, the largest {} times the smallest",
        kFewestSizes, kLeastSizeRatio));
  }
  Search search(passes, {cost->second.alpha_ns, cost->second.beta_ns_per_byte});
  if (search.empty()) {
    return say(
        "the best bucket size: the time when gradients were ready, or the end of backward, is unknown");
  }
  const int64_t finest = finest_limit(passes);
  search.fill(buckets, finest);
  say(
      fmt::format("bucket limits below {}: "
                  "gradients are known only by bucket, and buckets can be merged but not split",
                  format_bytes(finest)));
}

}  // namespace

std::optional<Buckets> buckets_of(const CommunicationInput& input,
                                  std::vector<Diagnostic>& diagnostics) {
  const std::optional<size_t> group = group_of_buckets(input);
  if (!group) {
    if (any_all_reduce(input)) {
      diagnostics.push_back(make_diagnostic(
          "not_computed", "gradient buckets: no all-reduce names the bucket it reduces"));
    }
    return std::nullopt;
  }
  const std::vector<Pass> passes = PassCollector(input, *group).run();
  if (passes.empty()) {
    diagnostics.push_back(
        make_diagnostic("not_computed", "gradient buckets: none was reduced in a steady step"));
    return std::nullopt;
  }
  Buckets buckets{
      .buckets = summaries_of(passes), .present_exposed_ns = {}, .bound_ns = {}, .caps = {}};
  search_caps(input, *group, passes, buckets, diagnostics);
  return buckets;
}

}  // namespace dprof::analyzer
