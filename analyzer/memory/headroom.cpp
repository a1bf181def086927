// SPDX-License-Identifier: Apache-2.0
#include "analyzer/memory/headroom.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/stats.h"

namespace dprof::analyzer {
namespace {

const DeviceSize* size_of(const RankDigest& digest, int device) {
  const auto found = std::ranges::find(digest.memory.sizes, device, &DeviceSize::device);
  return found == digest.memory.sizes.end() ? nullptr : &*found;
}

struct Sharing {
  int64_t reserved = 0;  // peaks of all ranks on the device
  bool complete = true;
};

}  // namespace

Fragmentation fragmentation_of(const DeviceMemory& device, std::span<const StepLevel> levels) {
  std::vector<double> slack;
  std::vector<double> non_releasable;
  for (const StepLevel& step : levels) {
    const MemoryCell& cell = step.level;
    if (cell.reserved_at_high == kUnknownLevel || cell.reserved_at_high <= 0) continue;
    const auto reserved = static_cast<double>(cell.reserved_at_high);
    slack.push_back(std::max(0.0, static_cast<double>(cell.reserved_at_high - cell.high)) /
                    reserved);
    if (cell.split_at_high != kUnknownLevel)
      non_releasable.push_back(static_cast<double>(cell.split_at_high) / reserved);
  }
  Fragmentation fragmentation;
  if (!slack.empty()) {
    fragmentation.slack = median(slack);
    if (non_releasable.size() == slack.size())
      fragmentation.non_releasable = median(non_releasable);
    return fragmentation;
  }
  int64_t allocated = 0;
  int64_t reserved = 0;
  for (const MemoryReading& reading : device.readings) {
    allocated =
        std::max({allocated, reading.allocated.value_or(0), reading.peak_allocated.value_or(0)});
    reserved =
        std::max({reserved, reading.reserved.value_or(0), reading.peak_reserved.value_or(0)});
  }
  if (reserved > 0 && allocated > 0 && allocated <= reserved)
    fragmentation.slack = 1 - static_cast<double>(allocated) / static_cast<double>(reserved);
  return fragmentation;
}

void add_headroom(std::span<const RankDigest> digests, std::vector<RankMemory>& per_rank) {
  std::map<std::string, DeviceUse> uses;
  for (const RankDigest& digest : digests) {
    for (const DeviceUse& use : digest.memory.uses) {
      DeviceUse& most = uses[use.uuid];
      most.used = std::max(most.used, use.used);
      most.total = std::max(most.total, use.total);
    }
  }
  const auto digest_of = [&](int rank) -> const RankDigest& {
    return *std::ranges::find(digests, rank, &RankDigest::rank);
  };
  std::map<std::string, Sharing> sharing;
  for (const RankMemory& memory : per_rank) {
    const DeviceSize* size = size_of(digest_of(memory.rank), memory.device);
    if (size == nullptr || size->uuid.empty()) continue;
    Sharing& all = sharing[size->uuid];
    all.reserved += memory.peak_reserved.value_or(0);
    all.complete = all.complete && memory.peak_reserved.has_value();
  }
  for (RankMemory& memory : per_rank) {
    const DeviceSize* size = size_of(digest_of(memory.rank), memory.device);
    if (size == nullptr) continue;
    memory.device_total = size->bytes;
    const auto use = uses.find(size->uuid);
    if (use == uses.end() || size->uuid.empty()) continue;
    if (!memory.device_total && use->second.total > 0) memory.device_total = use->second.total;
    const Sharing& all = sharing[size->uuid];
    if (!all.complete) continue;
    memory.non_torch_peak = std::max<int64_t>(0, use->second.used - all.reserved);
    if (!memory.device_total || !memory.peak_allocated) continue;
    memory.hard_headroom = *memory.device_total - *memory.non_torch_peak - all.reserved;
    memory.soft_headroom = *memory.hard_headroom + *memory.peak_reserved - *memory.peak_allocated;
  }
}

}  // namespace dprof::analyzer
