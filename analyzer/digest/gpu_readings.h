// SPDX-License-Identifier: Apache-2.0
// Maps GPU samples to ranks: a host's GPUs are sampled in one of its traces, by UUID.
#pragma once

#include <map>
#include <span>
#include <string_view>

#include "analyzer/digest/digest.h"

namespace dprof::analyzer {

// The device that ran most of its kernels; nullptr = none.
[[nodiscard]] const DeviceFact* busiest_device(const RankDigest& digest);

// Keeps references to the digests.
class ReadingsOfGpus {
 public:
  explicit ReadingsOfGpus(std::span<const RankDigest> digests);

  // A trace without UUIDs has samples of its own device. nullptr = not sampled.
  [[nodiscard]] const GpuReadings* of(const RankDigest& digest, const DeviceFact* device) const;

 private:
  std::map<std::string_view, const GpuReadings*> by_uuid_;
};

}  // namespace dprof::analyzer
