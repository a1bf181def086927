// SPDX-License-Identifier: Apache-2.0
// Part of archive.h, which includes it.
#pragma once

#include "analyzer/digest/system.h"

namespace dprof::analyzer {

template <typename Archive>
void serialize(Archive& archive, CounterSample& s) {
  archive(s.at, s.value);
}
template <typename Archive>
void serialize(Archive& archive, WaitSample& s) {
  archive(s.at, s.wait);
}
template <typename Archive>
void serialize(Archive& archive, GpuReadings& g) {
  archive(g.index, g.uuid, g.samples, g.sm_clock_mhz, g.memory_clock_mhz, g.temperature_c,
          g.power_mw, g.throttled, g.throttle_reasons, g.new_ecc_errors);
}
template <typename Archive>
void serialize(Archive& archive, SystemDigest& d) {
  archive(d.rows, d.cpu, d.kernel_cpu, d.faults, d.waits, d.gpus);
}

// A new member changes a size: archive it above, then correct the number.
static_assert(sizeof(CounterSample) == 16);
static_assert(sizeof(WaitSample) == 16);
static_assert(sizeof(GpuReadings) == 136);
static_assert(sizeof(SystemDigest) == 128);

}  // namespace dprof::analyzer
