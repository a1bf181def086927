// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/gpu_readings.h"

#include <algorithm>

namespace dprof::analyzer {

const DeviceFact* busiest_device(const RankDigest& digest) {
  const auto most = std::ranges::max_element(digest.facts.devices, {}, &DeviceFact::kernels);
  return most == digest.facts.devices.end() ? nullptr : &*most;
}

ReadingsOfGpus::ReadingsOfGpus(std::span<const RankDigest> digests) {
  for (const RankDigest& digest : digests) {
    for (const GpuReadings& gpu : digest.system.gpus) {
      if (!gpu.uuid.empty()) by_uuid_.try_emplace(gpu.uuid, &gpu);
    }
  }
}

const GpuReadings* ReadingsOfGpus::of(const RankDigest& digest, const DeviceFact* device) const {
  if (device != nullptr && !device->uuid.empty()) {
    if (const auto known = by_uuid_.find(device->uuid); known != by_uuid_.end())
      return known->second;
  }
  for (const GpuReadings& gpu : digest.system.gpus) {
    if (gpu.uuid.empty() && (device == nullptr || gpu.index == device->id)) return &gpu;
  }
  return nullptr;
}

}  // namespace dprof::analyzer
