// SPDX-License-Identifier: Apache-2.0
#include "analyzer/memory/categories.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace dprof::analyzer {
namespace {

using schema::Marker;
using schema::MemoryCategory;

constexpr size_t kMostHolders = 12;
constexpr int64_t kStays = 2;  // steps: longer-lived blocks are kept on purpose

std::optional<MemoryUse> said_use(MemoryCategory said) {
  switch (said) {
    case MemoryCategory::kParameter:
      return MemoryUse::kParameter;
    case MemoryCategory::kGradient:
      return MemoryUse::kGradient;
    case MemoryCategory::kOptimizerState:
      return MemoryUse::kOptimizerState;
    case MemoryCategory::kActivation:
      return MemoryUse::kActivation;
    case MemoryCategory::kBucket:
      return MemoryUse::kBucket;
    case MemoryCategory::kTemporary:
      return MemoryUse::kTemporary;
    default:
      return std::nullopt;
  }
}

MemoryUse use_by_phase(const HeldBlock& block, int64_t lived) {
  if (block.same_phase)
    return block.born_in == Marker::kBackward ? MemoryUse::kAutograd : MemoryUse::kTemporary;
  if (block.born_in == Marker::kForward) {
    if (block.freed_in == Marker::kBackward || (block.freed != kNeverFreed && lived < kStays))
      return MemoryUse::kActivation;
  }
  if (block.born_in == Marker::kBackward) {
    const bool within = block.freed_in == Marker::kBackward && lived == 0;
    return within ? MemoryUse::kAutograd : MemoryUse::kGradient;
  }
  return lived > kStays ? MemoryUse::kPersistent : MemoryUse::kUnknown;
}

// Unnamed parameters are older than the first step, stay, and have the size of a gradient or of a
// part of the optimizer state.
class ParameterGuess {
 public:
  ParameterGuess(const DeviceMemory& device, const StepClock& clock) : clock_(clock) {
    for (const HeldBlock& block : device.at_peak) count(block);
    const std::map<std::pair<int64_t, MemoryUse>, int64_t> at_peak = std::move(sizes_);
    sizes_ = {};
    for (const HeldBlock& block : device.at_end) count(block);
    for (const auto& [key, blocks] : at_peak) sizes_[key] = std::max(sizes_[key], blocks);
    for (const auto& [key, blocks] : sizes_) {
      int64_t& most = left_[key.first];
      most = std::max(most, blocks);
    }
  }

  bool takes(const HeldBlock& block) {
    const bool old = block.born == kBeforeRecording || clock_.position(block.born) < 0;
    if (!old || block.freed != kNeverFreed || block.blocks != 1) return false;
    const auto size = left_.find(block.bytes);
    if (size == left_.end() || size->second == 0) return false;
    --size->second;
    return true;
  }

 private:
  void count(const HeldBlock& block) {
    if (block.blocks != 1) return;
    const MemoryUse use = use_of(block, clock_);
    if (use == MemoryUse::kGradient || use == MemoryUse::kOptimizerState)
      ++sizes_[{block.bytes, use}];
  }

  const StepClock& clock_;
  std::map<std::pair<int64_t, MemoryUse>, int64_t> sizes_;
  std::map<int64_t, int64_t> left_;  // by size
};

}  // namespace

int64_t steps_lived(const HeldBlock& block, const StepClock& clock) {
  const int64_t born = block.born == kBeforeRecording ? -1 : clock.position(block.born);
  const int64_t freed =
      block.freed == kNeverFreed ? clock.count() - 1 : clock.position(block.freed);
  return std::max<int64_t>(0, freed - born);
}

MemoryUse use_of(const HeldBlock& block, const StepClock& clock) {
  if (const auto said = said_use(block.said)) return *said;
  const int64_t lived = steps_lived(block, clock);
  if (block.born == kBeforeRecording)
    return lived > kStays ? MemoryUse::kPersistent : MemoryUse::kUnknown;
  if (block.born_in == Marker::kOptimizer && lived >= kStays) return MemoryUse::kOptimizerState;
  if (block.in_op) return MemoryUse::kTemporary;
  if (block.by_loader || (block.born_in == Marker::kInput && lived <= kStays))
    return MemoryUse::kInput;
  return use_by_phase(block, lived);
}

std::string_view phase_of(const HeldBlock& block) {
  return block.born == kBeforeRecording ? "before" : phase_name(block.born_in);
}

std::optional<PeakContents> contents_at_peak(const DeviceMemory& device,
                                             const std::vector<std::string>& sites,
                                             const StepClock& clock, int64_t peak_allocated) {
  PeakContents contents;
  ParameterGuess parameters(device, clock);
  std::map<std::tuple<MemoryUse, int32_t, std::string_view>, MemoryHolder> holders;
  int64_t left = peak_allocated;
  for (const HeldBlock& block : device.at_peak) {
    MemoryUse use = use_of(block, clock);
    if (use == MemoryUse::kPersistent && parameters.takes(block)) use = MemoryUse::kParameter;
    contents.by_use.at(static_cast<size_t>(use)) += block.bytes;
    left -= block.bytes;
    if (use == MemoryUse::kActivation && steps_lived(block, clock) >= kStays)
      contents.retained_graph_bytes += block.bytes;
    MemoryHolder& holder = holders[{use, block.site, phase_of(block)}];
    holder.blocks += block.blocks;
    holder.bytes += block.bytes;
  }
  if (left < 0) return std::nullopt;
  contents.by_use.at(static_cast<size_t>(MemoryUse::kUnknown)) += left;
  for (auto& [key, holder] : holders) {
    const auto& [use, site, phase] = key;
    holder.use = use;
    holder.phase = phase;
    if (site >= 0 && static_cast<size_t>(site) < sites.size())
      holder.site = sites[static_cast<size_t>(site)];
    contents.holders.push_back(std::move(holder));
  }
  std::ranges::stable_sort(contents.holders, std::ranges::greater(), &MemoryHolder::bytes);
  if (contents.holders.size() > kMostHolders) contents.holders.resize(kMostHolders);
  return contents;
}

}  // namespace dprof::analyzer
