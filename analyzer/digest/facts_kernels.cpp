// SPDX-License-Identifier: Apache-2.0
// The part of facts that gpu_activity tells.
#include <algorithm>
#include <limits>

#include "analyzer/digest/facts_internal.h"
#include "analyzer/run/sensible.h"

namespace dprof::analyzer::facts {
namespace {

constexpr int64_t kMostSampled = 4096;  // of kernels and copies together, about

// A power of two less one: correlations that have these bits clear are sampled.
int64_t sampling_mask(int64_t rows) {
  int64_t every = 1;
  while (rows / every > kMostSampled) every *= 2;
  return every - 1;
}

bool is_convolution(std::string_view name) {
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{"conv", "Conv", "cudnn", "wgrad", "dgrad", "fprop",
                                              "winograd"},
      [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

// By name, while the rows stream by.
struct Names {
  std::vector<KernelFact> facts;  // by name id; count 0 = not seen

  KernelFact& of(int64_t name_id, std::string_view name) {
    const auto index = static_cast<size_t>(std::max<int64_t>(0, name_id));
    if (index >= facts.size()) facts.resize(index + 1);
    KernelFact& fact = facts[index];
    if (fact.count == 0) {
      fact.name = std::string(name.substr(0, KernelFact::kMostNameBytes));
      fact.what = class_of_kernel(name);
      fact.convolution = is_convolution(name);
      fact.first = {std::numeric_limits<int64_t>::max()};
      fact.last = {std::numeric_limits<int64_t>::min()};
    }
    return fact;
  }

  [[nodiscard]] std::vector<KernelFact> longest() {
    std::erase_if(facts, [](const KernelFact& fact) { return fact.count == 0; });
    std::ranges::stable_sort(facts, std::ranges::greater(), &KernelFact::total_ns);
    if (facts.size() > KernelFact::kMostKept) facts.resize(KernelFact::kMostKept);
    facts.shrink_to_fit();
    return std::move(facts);
  }
};

void add_copy(HostCopies& copies, const schema::GpuActivityRow& row, std::string_view name) {
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

Status FactsReader::read_activities() {
  const Result<int64_t> rows = reader_.count("gpu_activity");
  if (!rows.ok()) return fail(rows.error());
  if (*rows == 0) return Done{};
  facts_.has_gpu = true;
  const int64_t mask = sampling_mask(*rows);
  Names names;
  std::vector<std::pair<int64_t, int64_t>> on_device;  // number, kernels
  const auto read = [&](const schema::GpuActivityRow& row) {
    using Kind = schema::GpuActivityKind;
    if (!sensible(row.start_ns) || !row.duration_ns || *row.duration_ns < 0 ||
        !sensible(*row.duration_ns))
      return;
    const int64_t end_ns = row.start_ns + *row.duration_ns;
    const bool sampled = row.correlation && *row.correlation > 0 && (*row.correlation & mask) == 0;
    if (row.kind == Kind::kMemcpyH2d) {
      add_copy(facts_.host_copies, row, reader_.string(row.name_id));
      const bool large = row.bytes.value_or(0) >= HostCopies::kLarge;
      if (row.correlation && large && static_cast<int64_t>(sample_.size()) < 2 * kMostSampled)
        sample_[*row.correlation] = {row.start_ns, end_ns, true};
    }
    if (row.kind != Kind::kKernel) return;
    KernelFact& fact = names.of(row.name_id, reader_.string(row.name_id));
    ++fact.count;
    fact.total_ns += *row.duration_ns;
    fact.first = std::min(fact.first, on_axis(row.start_ns));
    fact.last = std::max(fact.last, on_axis(row.start_ns));
    KernelSum& sum = facts_.kernels_by_class[static_cast<size_t>(fact.what)];
    ++sum.count;
    sum.total_ns += *row.duration_ns;
    auto device = std::ranges::find(on_device, row.device_id, &std::pair<int64_t, int64_t>::first);
    if (device == on_device.end()) device = on_device.insert(device, {row.device_id, 0});
    ++device->second;
    if (fact.what == KernelClass::kCommunication) return;
    facts_.kernel_ns.add(*row.duration_ns);
    if (sampled) sample_.try_emplace(*row.correlation, Sampled{row.start_ns, end_ns, false});
  };
  if (const Status good = reader_.for_each<schema::GpuActivityRow>(read); !good.ok())
    return fail(good.error());
  facts_.kernels = names.longest();
  for (const auto& [number, kernels] : on_device) {
    auto known = std::ranges::find(facts_.devices, number, &DeviceFact::id);
    if (known == facts_.devices.end())
      known = facts_.devices.insert(known, DeviceFact{.id = number});
    known->kernels = kernels;
  }
  return Done{};
}

}  // namespace dprof::analyzer::facts
