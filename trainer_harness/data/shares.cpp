// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/data/shares.h"

#include <algorithm>
#include <string>

#include "trainer_harness/common/usage_error.h"

namespace dprof::trainer_harness {
namespace {

constexpr double kJoinSkew = 1.5;

// The other ranks' shares are equally long; rank 0 gets the rest.
Share skewed(double factor, int64_t size, int ranks, int rank) {
  const auto equal = static_cast<int64_t>(static_cast<double>(size) / (factor + ranks - 1));
  const int64_t others = ranks == 1 ? 0 : std::clamp<int64_t>(equal, 1, (size - 1) / (ranks - 1));
  const int64_t first = size - others * (ranks - 1);
  if (rank == 0) return {.begin = 0, .samples = first};
  return {.begin = first + others * (rank - 1), .samples = others};
}

}  // namespace

Share share_of(const DataOptions& options, int64_t size, int ranks, int rank) {
  if (size < ranks) {
    throw UsageError("--samples " + std::to_string(size) + " is too few for " +
                     std::to_string(ranks) + " ranks\nhint: each rank needs one");
  }
  if (options.sampler == SamplerKind::kNone) return {.samples = size};
  switch (options.uneven) {
    case Uneven::kPad:
      break;
    case Uneven::kDrop:
      return {.parts = ranks, .part = rank, .duplicates = false, .samples = size / ranks};
    case Uneven::kJoin:
      return skewed(options.skew == 1 ? kJoinSkew : options.skew, size, ranks, rank);
    case Uneven::kSkew:
      return skewed(options.skew, size, ranks, rank);
  }
  return {.parts = ranks, .part = rank, .samples = (size + ranks - 1) / ranks};
}

}  // namespace dprof::trainer_harness
