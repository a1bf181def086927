// SPDX-License-Identifier: Apache-2.0
#include "analyzer/memory/result.h"

namespace dprof::analyzer {
namespace {

struct Names {
  std::string_view key;
  std::string_view title;
};

// In the order of MemorySource.
constexpr std::array<Names, kMemorySources> kSourceNames = {{
    {"allocator_events", "allocations, with the allocator's own figures"},
    {"counted_events", "allocations, added up"},
    {"step_samples", "the allocator's figures, once per step"},
    {"resident_set", "resident set of the process"},
}};

// In the order of MemoryUse.
constexpr std::array<Names, kMemoryUses> kUseNames = {{
    {"parameter", "parameters"},
    {"gradient", "gradients"},
    {"bucket", "DDP buckets"},
    {"optimizer_state", "optimizer state"},
    {"activation", "activations"},
    {"input", "batches"},
    {"temporary", "temporary"},
    {"autograd", "autograd"},
    {"persistent", "persistent, unknown"},
    {"unknown", "unknown"},
}};

}  // namespace

std::string_view word_of(MemorySource source) {
  return kSourceNames.at(static_cast<size_t>(source)).key;
}
std::string_view title_of(MemorySource source) {
  return kSourceNames.at(static_cast<size_t>(source)).title;
}

std::string_view key_of(MemoryUse use) { return kUseNames.at(static_cast<size_t>(use)).key; }
std::string_view title_of(MemoryUse use) { return kUseNames.at(static_cast<size_t>(use)).title; }

}  // namespace dprof::analyzer
