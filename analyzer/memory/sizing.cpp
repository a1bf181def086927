// SPDX-License-Identifier: Apache-2.0
#include "analyzer/memory/sizing.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr double kZeroShare = 0.5;
constexpr int64_t kZeroRanks = 4;
constexpr double kCheckpointingShare = 0.6;

int64_t bytes_of(const RankMemory& memory, std::initializer_list<MemoryUse> uses) {
  int64_t bytes = 0;
  for (const MemoryUse use : uses) bytes += memory.by_category->at(static_cast<size_t>(use));
  return bytes;
}

const RankMemory* largest_known(std::span<const RankMemory> per_rank) {
  const RankMemory* largest = nullptr;
  for (const RankMemory& memory : per_rank) {
    if (!memory.by_category || !memory.peak_allocated || *memory.peak_allocated <= 0) continue;
    if (largest == nullptr || *memory.peak_allocated > *largest->peak_allocated) largest = &memory;
  }
  return largest;
}

struct Divided {
  int64_t ranks = 0;
  bool already = false;  // gradients are scattered or parameters gathered: state is divided
};

// The communicator over which most bytes are reduced.
std::optional<Divided> data_parallel_ranks(const RankDigest& digest) {
  std::map<size_t, int64_t> reduced;
  int64_t in_parts = 0;
  int64_t whole = 0;
  for (const CollectiveRecord& collective : digest.collectives) {
    const int64_t bytes = collective.bytes.value_or(0);
    if (collective.function == schema::Function::kAllReduce) whole += bytes;
    if (collective.function == schema::Function::kReduceScatter) in_parts += bytes;
    if (collective.function == schema::Function::kAllReduce ||
        collective.function == schema::Function::kReduceScatter) {
      reduced[collective.communicator] += std::max<int64_t>(0, bytes);
    }
  }
  if (reduced.empty()) return std::nullopt;
  const auto most =
      std::ranges::max_element(reduced, {}, [](const auto& entry) { return entry.second; });
  const CommunicatorInfo& group = digest.communicators[most->first];
  const int64_t ranks = group.size.value_or(static_cast<int64_t>(group.members.size()));
  if (ranks < 2) return std::nullopt;
  return Divided{ranks, in_parts > whole};
}

}  // namespace

std::optional<MemoryImbalance> imbalance_of(std::span<const RankMemory> per_rank) {
  const bool devices = std::ranges::any_of(
      per_rank, [](const RankMemory& m) { return m.device >= 0 && m.peak_allocated; });
  std::map<int, int64_t> peaks;
  for (const RankMemory& memory : per_rank) {
    if ((memory.device >= 0) != devices || !memory.peak_allocated) continue;
    int64_t& peak = peaks[memory.rank];
    peak = std::max(peak, *memory.peak_allocated);
  }
  if (peaks.size() < 2) return std::nullopt;
  std::vector<double> values;
  double sum = 0;
  MemoryImbalance imbalance{.ranks = static_cast<int64_t>(peaks.size())};
  for (const auto& [rank, peak] : peaks) {
    values.push_back(static_cast<double>(peak));
    sum += static_cast<double>(peak);
    if (peak <= imbalance.peak) continue;
    imbalance.peak = peak;
    imbalance.rank = rank;
  }
  if (sum <= 0) return std::nullopt;
  const double mean = sum / static_cast<double>(values.size());
  imbalance.max_over_mean = static_cast<double>(imbalance.peak) / mean;
  imbalance.median = std::llround(median(std::move(values)));
  imbalance.max_less_median = imbalance.peak - imbalance.median;
  return imbalance;
}

std::optional<ZeroSizing> zero_sizing_of(std::span<const RankDigest> digests,
                                         std::span<const RankMemory> per_rank) {
  const RankMemory* memory = largest_known(per_rank);
  if (memory == nullptr) return std::nullopt;
  const auto digest = std::ranges::find(digests, memory->rank, &RankDigest::rank);
  const std::optional<Divided> divided = data_parallel_ranks(*digest);
  if (!divided) return std::nullopt;
  const int64_t parameters = bytes_of(*memory, {MemoryUse::kParameter});
  const int64_t gradients = bytes_of(*memory, {MemoryUse::kGradient, MemoryUse::kBucket});
  const int64_t optimizer = bytes_of(*memory, {MemoryUse::kOptimizerState});
  const auto saved = [&](int64_t bytes) { return bytes - bytes / divided->ranks; };
  ZeroSizing sizing{.rank = memory->rank, .ranks = divided->ranks};
  sizing.share = static_cast<double>(parameters + gradients + optimizer) /
                 static_cast<double>(*memory->peak_allocated);
  sizing.saved_bytes = {saved(optimizer), saved(optimizer + gradients),
                        saved(optimizer + gradients + parameters)};
  sizing.worthwhile =
      !divided->already && sizing.share >= kZeroShare && divided->ranks >= kZeroRanks;
  return sizing;
}

std::optional<CheckpointingSizing> checkpointing_sizing_of(std::span<const RankMemory> per_rank) {
  const RankMemory* memory = largest_known(per_rank);
  if (memory == nullptr) return std::nullopt;
  CheckpointingSizing sizing{.rank = memory->rank};
  sizing.activation_bytes = bytes_of(*memory, {MemoryUse::kActivation});
  sizing.share =
      static_cast<double>(sizing.activation_bytes) / static_cast<double>(*memory->peak_allocated);
  sizing.worthwhile = sizing.share >= kCheckpointingShare;
  return sizing;
}

}  // namespace dprof::analyzer
