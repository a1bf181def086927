// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/facts_kernels.h"

#include <algorithm>
#include <limits>

#include "analyzer/digest/range_names.h"
#include "analyzer/run/sensible.h"
#include "base/symbol.h"

namespace dprof::analyzer {
namespace {

constexpr int64_t kMostSampled = 4096;  // kernels and copies together, approximately

bool is_convolution(std::string_view name) {
  return contains_any(name, {"conv", "Conv", "cudnn", "wgrad", "dgrad", "fprop", "winograd"});
}

void add(KernelSum& sum, int64_t ns) {
  ++sum.count;
  sum.total_ns += ns;
}

void add_host_copy(HostCopies& copies, const schema::GpuActivityRow& row, std::string_view name) {
  const int64_t bytes = std::max<int64_t>(0, row.bytes.value_or(0));
  const int64_t ns = row.duration_ns.value_or(0);
  ++copies.count;
  copies.bytes += bytes;
  copies.total_ns += ns;
  if (name.find("Pageable") != std::string_view::npos) {
    ++copies.pageable;
    copies.pageable_bytes += bytes;
    copies.pageable_ns += ns;
  } else if (name.find("Pinned") != std::string_view::npos) {
    ++copies.pinned;
    copies.pinned_bytes += bytes;
    copies.pinned_ns += ns;
  }
}

}  // namespace

int64_t sampling_mask(int64_t gpu_rows) {
  int64_t every = 1;
  while (gpu_rows / every > kMostSampled) every *= 2;
  return every - 1;
}

KernelFact& KernelFacts::fact_of(int64_t name_id) {
  const auto index = static_cast<size_t>(std::max<int64_t>(0, name_id));
  if (index >= by_name_.size()) by_name_.resize(index + 1);
  KernelFact& fact = by_name_[index];
  if (fact.count == 0) {
    const std::string_view name = reader_.string(name_id);
    fact.name = kernel_title(name);
    fact.name.resize(std::min(fact.name.size(), KernelFact::kMostNameBytes));
    fact.what = class_of_kernel(name);
    fact.convolution = is_convolution(name);
    fact.first = {std::numeric_limits<int64_t>::max()};
    fact.last = {std::numeric_limits<int64_t>::min()};
  }
  return fact;
}

void KernelFacts::see(const schema::GpuActivityRow& row) {
  using Kind = schema::GpuActivityKind;
  if (!row.duration_ns || *row.duration_ns < 0 || !sensible(*row.duration_ns)) return;
  if (row.correlation && !bucket_launches_.empty() && bucket_launches_.contains(*row.correlation))
    add(facts_.bucket_copies, *row.duration_ns);
  if (!sensible(row.start_ns)) return;
  const int64_t end_ns = row.start_ns + *row.duration_ns;
  if (row.kind == Kind::kMemcpyH2d) {
    add_host_copy(facts_.host_copies, row, reader_.string(row.name_id));
    const bool large = row.bytes.value_or(0) >= HostCopies::kLarge;
    if (row.correlation && large && static_cast<int64_t>(sample_.size()) < 2 * kMostSampled)
      sample_[*row.correlation] = {row.start_ns, end_ns, true};
  }
  if (row.kind != Kind::kKernel) return;
  const TraceNs at{row.start_ns + shift_ns_};
  KernelFact& fact = fact_of(row.name_id);
  ++fact.count;
  fact.total_ns += *row.duration_ns;
  fact.first = std::min(fact.first, at);
  fact.last = std::max(fact.last, at);
  add(facts_.kernels_by_class[static_cast<size_t>(fact.what)], *row.duration_ns);
  auto device = std::ranges::find(on_device_, row.device_id, &std::pair<int64_t, int64_t>::first);
  if (device == on_device_.end()) device = on_device_.insert(device, {row.device_id, 0});
  ++device->second;
  if (fact.what == KernelClass::kCommunication) return;
  facts_.kernel_ns.add(*row.duration_ns);
  if (row.correlation && *row.correlation > 0 && (*row.correlation & mask_) == 0)
    sample_.try_emplace(*row.correlation, SampledActivity{row.start_ns, end_ns, false});
}

ActivitySample KernelFacts::finish() && {
  std::erase_if(by_name_, [](const KernelFact& fact) { return fact.count == 0; });
  std::ranges::stable_sort(by_name_, std::ranges::greater(), &KernelFact::total_ns);
  if (by_name_.size() > KernelFact::kMostKept) by_name_.resize(KernelFact::kMostKept);
  by_name_.shrink_to_fit();
  facts_.kernels = std::move(by_name_);
  for (const auto& [number, kernels] : on_device_) {
    auto known = std::ranges::find(facts_.devices, number, &DeviceFact::id);
    if (known == facts_.devices.end())
      known = facts_.devices.insert(known, DeviceFact{.id = number});
    known->kernels = kernels;
  }
  return std::move(sample_);
}

}  // namespace dprof::analyzer
