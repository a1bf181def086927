// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/facts_calls.h"

#include <algorithm>

#include "analyzer/digest/range_names.h"
#include "analyzer/run/sensible.h"

namespace dprof::analyzer {
namespace {

// Only if gradients are not views of buckets.
constexpr std::string_view kBucketToGradient = "torch.distributed.ddp.reducer::copy_bucket_to_grad";
constexpr std::string_view kGradientToBucket = "torch::distributed::reducer::";  // mul_out, copy_

// A runtime call and the driver call within it count once: driver names count only if the trace has
// no runtime names.
std::optional<CallKind> call_of(std::string_view name, bool has_runtime) {
  if (is_any(name, {"cudaStreamSynchronize", "cudaEventSynchronize", "hipStreamSynchronize",
                    "hipEventSynchronize"}))
    return CallKind::kStreamSync;
  if (is_any(name, {"cudaDeviceSynchronize", "hipDeviceSynchronize"})) return CallKind::kDeviceSync;
  if (is_any(name, {"cudaMemcpy", "cudaMemcpy2D", "hipMemcpy"})) return CallKind::kBlockingCopy;
  if (is_any(name, {"cudaMalloc", "hipMalloc", "cuMemCreate"})) return CallKind::kAllocate;
  if (is_any(name, {"cudaFree", "hipFree", "cuMemRelease"})) return CallKind::kRelease;
  if (name == "aten::isnan") return CallKind::kNanCheck;
  if (name == "aten::_amp_update_scale_") return CallKind::kScalerUpdate;
  if (name.starts_with("Optimizer.zero_grad#")) return CallKind::kZeroGrad;
  if (contains_any(name, {"empty_cache", "emptyCache"})) return CallKind::kEmptyCache;
  if (has_runtime) return std::nullopt;
  if (is_any(name, {"cuStreamSynchronize", "cuEventSynchronize"})) return CallKind::kStreamSync;
  if (name == "cuCtxSynchronize") return CallKind::kDeviceSync;
  return std::nullopt;
}

void add_call(Calls& calls, const Call& call) {
  ++calls.count;
  calls.total_ns += call.ns;
  if (calls.count % calls.every != 0) return;
  if (calls.kept.size() >= Calls::kMostKept) {
    for (size_t i = 0; 2 * i + 1 < calls.kept.size(); ++i) calls.kept[i] = calls.kept[2 * i + 1];
    calls.kept.resize(calls.kept.size() / 2);
    calls.every *= 2;
    if (calls.count % calls.every != 0) return;
  }
  calls.kept.push_back(call);
}

int64_t count_within(std::vector<TraceNs> moments, const IntervalSet& set) {
  std::ranges::sort(moments);
  int64_t count = 0;
  size_t next = 0;
  for (const TraceNs moment : moments) {
    while (next < set.size() && set[next].end <= moment) ++next;
    if (next < set.size() && set[next].begin <= moment) ++count;
  }
  return count;
}

// Intervals between scaler updates in which no parameter was written.
int64_t skips_of(std::vector<TraceNs> updates, std::vector<TraceNs> writes) {
  std::ranges::sort(updates);
  std::ranges::sort(writes);
  int64_t skips = 0;
  for (size_t i = 1; i < updates.size(); ++i) {
    const auto write = std::ranges::lower_bound(writes, updates[i - 1]);
    if (write == writes.end() || *write >= updates[i]) ++skips;
  }
  return skips;
}

}  // namespace

CallFacts::CallFacts(const schema::TraceReader& reader, int64_t shift_ns, int64_t gpu_rows,
                     Facts& facts)
    : reader_(reader),
      shift_ns_(shift_ns),
      gpu_rows_(gpu_rows),
      mask_(sampling_mask(gpu_rows)),
      facts_(facts) {
  learn_names(reader.strings());
  counts_nodes_ = has(CallKind::kNanCheck);
  finds_bucket_copies_ = has(CallKind::kBucketCopy);
}

bool CallFacts::has(CallKind kind) const {
  return std::ranges::any_of(meanings_, [&](const Meaning& m) { return m.call == kind; });
}

void CallFacts::learn_names(const std::vector<std::string>& strings) {
  const auto any = [&](auto&& is) { return std::ranges::any_of(strings, is); };
  const bool runtime = any([](const std::string& s) {
    return starts_with_any(s, {"cudaLaunch", "cudaMemcpy", "cudaStream", "hipLaunch"});
  });
  // Reading a value is `item`, which calls the other one: only one of them counts.
  const bool reads = any([](const std::string& s) { return s == "aten::_local_scalar_dense"; });
  const bool scales = any([](const std::string& s) { return s == "aten::_amp_update_scale_"; });
  const bool copies_back = any([](const std::string& s) { return s == kBucketToGradient; });
  meanings_.resize(strings.size());
  for (size_t id = 1; id < strings.size(); ++id) {
    const std::string& name = strings[id];
    Meaning& meaning = meanings_[id];
    meaning.call = call_of(name, runtime);
    if (name == (reads ? "aten::_local_scalar_dense" : "aten::item"))
      meaning.call = CallKind::kItem;
    if (copies_back && (name == kBucketToGradient || name.starts_with(kGradientToBucket)))
      meaning.call = CallKind::kBucketCopy;
    meaning.launch =
        contains_any(name, {"LaunchKernel"}) && !(runtime && name.starts_with("cuLaunch"));
    meaning.copy = starts_with_any(name, {"cudaMemcpy", "hipMemcpy"});
    meaning.writes_parameter =
        scales &&
        starts_with_any(name, {"aten::add_", "aten::sub_", "aten::addcdiv_", "aten::addcmul_",
                               "aten::lerp_", "aten::_foreach_", "aten::_fused_"});
    meaning.recomputes = contains_any(name, {"CheckpointFunctionBackward", "RecomputeBackward"});
    meaning.single_process = contains_any(name, {"_SingleProcessDataLoaderIter"});
    meaning.workers = contains_any(name, {"_MultiProcessingDataLoaderIter"});
  }
}

void CallFacts::see(const schema::HostRangeRow& row) {
  if (counts_nodes_ && row.category == schema::RangeCategory::kAutograd)
    facts_.autograd_nodes += contains_any(reader_.string(row.name_id), {"AccumulateGrad"}) ? 0 : 1;
  const auto id = static_cast<size_t>(row.name_id);
  if (row.name_id <= 0 || id >= meanings_.size() || !meanings_[id].matters()) return;
  if (!sensible(row.start_ns)) return;
  if (!row.duration_ns || *row.duration_ns < 0 || !sensible(*row.duration_ns)) return;
  const Meaning& meaning = meanings_[id];
  const TraceNs at{row.start_ns + shift_ns_};
  if (meaning.call)
    add_call(facts_.calls[static_cast<size_t>(*meaning.call)], {at, *row.duration_ns, row.id});
  if (meaning.launch || meaning.copy) see_launch(meaning, row);
  if (meaning.writes_parameter) writes_.push_back(at);
  if (meaning.recomputes && row.category == schema::RangeCategory::kAutograd) {
    ++facts_.recompute.count;
    facts_.recompute.total_ns += *row.duration_ns;
  }
  facts_.single_process_loads += meaning.single_process ? 1 : 0;
  facts_.worker_loads += meaning.workers ? 1 : 0;
  if (!finds_bucket_copies_) return;
  const BucketPart part{row.thread_id, row.start_ns, row.start_ns + *row.duration_ns,
                        row.correlation.value_or(0)};
  if (meaning.call == CallKind::kBucketCopy) bucket_ranges_.push_back(part);
  if (meaning.launch || meaning.copy) bucket_calls_.push_back(part);
}

void CallFacts::see_launch(const Meaning& meaning, const schema::HostRangeRow& row) {
  const int64_t correlation = row.correlation.value_or(0);
  if (meaning.launch && correlation != last_launch_) {
    last_launch_ = correlation;
    launches_.push_back({row.start_ns + shift_ns_});
  }
  if (gpu_rows_ == 0 || (!meaning.copy && (correlation & mask_) != 0)) return;
  launch_ends_.push_back({correlation, row.start_ns + *row.duration_ns, meaning.copy});
}

// Launches within one of the ranges, which do not nest.
std::unordered_set<int64_t> CallFacts::bucket_launches() {
  std::ranges::sort(bucket_ranges_, {}, &BucketPart::place);
  std::unordered_set<int64_t> inside;
  for (const BucketPart& call : bucket_calls_) {
    const auto after =
        std::ranges::upper_bound(bucket_ranges_, call.place(), {}, &BucketPart::place);
    if (after == bucket_ranges_.begin()) continue;
    const BucketPart& range = *std::prev(after);
    if (range.thread == call.thread && call.at_ns < range.end_ns) inside.insert(call.correlation);
  }
  return inside;
}

// Checks whether the calls returned before their launched work was done.
void CallFacts::compare(ActivitySample sample) {
  for (const LaunchEnd& call : launch_ends_) {
    const auto sampled = sample.find(call.correlation);
    if (sampled == sample.end() || sampled->second.copy != call.copy) continue;
    const bool until_done = call.end_ns >= sampled->second.end_ns;
    if (call.copy) {
      ++facts_.host_copies.sampled;
      facts_.host_copies.held_host_up += until_done ? 1 : 0;
    } else {
      ++facts_.launches_sampled;
      facts_.launches_until_done += until_done ? 1 : 0;
      facts_.start_lag_ns.add(std::max<int64_t>(0, sampled->second.start_ns - call.end_ns));
    }
    sample.erase(sampled);  // the inner driver call has the same number
  }
}

void CallFacts::finish(ActivitySample sample, const IntervalSet& optimizer) {
  compare(std::move(sample));
  facts_.optimizer_phases = static_cast<int64_t>(optimizer.size());
  facts_.optimizer_launches = count_within(std::move(launches_), optimizer);
  if (!has(CallKind::kScalerUpdate)) return;
  std::vector<TraceNs> updates;
  for (const Call& call : facts_.of(CallKind::kScalerUpdate).kept) updates.push_back(call.at);
  std::erase_if(writes_, [&](TraceNs at) { return count_within({at}, optimizer) == 0; });
  facts_.scaler_skips = skips_of(std::move(updates), std::move(writes_));
}

}  // namespace dprof::analyzer
