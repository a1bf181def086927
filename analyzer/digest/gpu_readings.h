// SPDX-License-Identifier: Apache-2.0
// Which GPU's samples are a rank's: a host's GPUs are sampled in one of its traces, which names
// them by UUID.
#pragma once

#include <map>
#include <span>
#include <string_view>

#include "analyzer/digest/digest.h"

namespace dprof::analyzer {

// The device that ran most of its kernels; nullptr = it has none.
[[nodiscard]] const DeviceFact* busiest_device(const RankDigest& digest);

// Refers to the digests.
class ReadingsOfGpus {
 public:
  explicit ReadingsOfGpus(std::span<const RankDigest> digests);

  // A trace that knows of no UUID tells of its own device. nullptr = it was not sampled.
  [[nodiscard]] const GpuReadings* of(const RankDigest& digest, const DeviceFact* device) const;

 private:
  std::map<std::string_view, const GpuReadings*> by_uuid_;
};

}  // namespace dprof::analyzer
