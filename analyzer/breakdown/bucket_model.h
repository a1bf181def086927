// SPDX-License-Identifier: Apache-2.0
// A model of the cost of DDP's buckets: gradients become ready one after the other, are gathered
// into buckets, and the buckets are reduced in order, one at a time
// (docs/analysis/communication.md). Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace dprof::analyzer {

// A gradient, or a bucket of gradients: ready when the last of them is.
struct ReadyBytes {
  int64_t ready_ns = 0;
  int64_t bytes = 0;
};

// The time that the reduction of a bucket takes: alpha + per_byte * bytes.
struct TransferCost {
  double alpha_ns = 0;
  double per_byte_ns = 0;
};

inline constexpr int64_t kMiB = 1 << 20;
inline constexpr int64_t kFirstBucketBytes = kMiB;  // DDP's limit of the first bucket
// The other buckets' limits to try; nullopt = one bucket.
inline constexpr std::optional<int64_t> kBucketCaps[] = {
    1 * kMiB, 2 * kMiB, 5 * kMiB, 10 * kMiB, 25 * kMiB, 50 * kMiB, 100 * kMiB, 200 * kMiB, {}};

// DDP's rule: in order of readiness, a bucket is closed as soon as it reaches its limit; the first
// bucket's limit is 1 MiB. A limit of nullopt puts everything into one bucket. O(n).
[[nodiscard]] std::vector<ReadyBytes> in_buckets(std::span<const ReadyBytes> gradients,
                                                 std::optional<int64_t> cap);

// The time from `backward_end_ns` until the last bucket is reduced, in order. O(n).
[[nodiscard]] double exposed_after(std::span<const ReadyBytes> buckets, const TransferCost& cost,
                                   int64_t backward_end_ns);

// A lower bound over all bucketings of these gradients, which are in order of readiness. O(n).
[[nodiscard]] double least_exposed_after(std::span<const ReadyBytes> gradients,
                                         const TransferCost& cost, int64_t backward_end_ns);

}  // namespace dprof::analyzer
