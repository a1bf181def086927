// SPDX-License-Identifier: Apache-2.0
// Categories of the blocks at the peak (docs/analysis/memory.md).
#pragma once

#include <optional>
#include <vector>

#include "analyzer/digest/memory/memory.h"
#include "analyzer/memory/result.h"
#include "analyzer/memory/timeline.h"

namespace dprof::analyzer {

// Decided by the block's own life; the first matching rule counts.
[[nodiscard]] MemoryUse use_of(const HeldBlock& block, const StepClock& clock);

// Steps that end during the block's life.
[[nodiscard]] int64_t steps_lived(const HeldBlock& block, const StepClock& clock);

// "before" for blocks from before the recording.
[[nodiscard]] std::string_view phase_of(const HeldBlock& block);

struct PeakContents {
  MemoryUseBytes by_use{};
  std::vector<MemoryHolder> holders;  // largest first, 12 at most
  int64_t retained_graph_bytes = 0;
};

// `peak_allocated` bytes in total. Bytes without a block are unknown; nullopt = the blocks exceed
// the total, so records are missing.
[[nodiscard]] std::optional<PeakContents> contents_at_peak(const DeviceMemory& device,
                                                           const std::vector<std::string>& sites,
                                                           const StepClock& clock,
                                                           int64_t peak_allocated);

}  // namespace dprof::analyzer
