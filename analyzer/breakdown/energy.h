// SPDX-License-Identifier: Apache-2.0
// Joules per step, from the counters of GPUs (NVML) and processors (RAPL) or from GPUs' power.
#pragma once

#include <optional>
#include <span>

#include "analyzer/breakdown/result.h"
#include "analyzer/digest/digest.h"
#include "analyzer/run/run.h"
#include "analyzer/steps/result.h"

namespace dprof::analyzer {

// Over the steady steps; `traces` in the order of `digests`, `breakdown` of the same steps. Samples
// are about a second apart: if more than a quarter of a span's energy is uncertain at its borders,
// its energy is reported as missing, with the reason.
[[nodiscard]] Energy energy_of(std::span<const RankDigest> digests,
                               std::span<const TraceFile> traces, const Steps& steps,
                               const Breakdown& breakdown);

}  // namespace dprof::analyzer
