// SPDX-License-Identifier: Apache-2.0
// A histogram of durations whose buckets have a fixed relative width, so that those of two ranks
// add up and quantiles come out of the sum (docs/analysis.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dprof {

// 64 linear buckets per octave: 0.8 to 1.6 % wide; values below 128 are exact. Holds only the range
// of buckets that was used: at most 3,712 of them. Not thread-safe.
class LogHistogram {
 public:
  LogHistogram() = default;
  // As `first()` and `counts()` gave them.
  LogHistogram(size_t first, std::vector<uint32_t> counts);

  // Negative values count as 0. O(1), now and then O(buckets).
  void add(int64_t value);
  void merge(const LogHistogram& other);

  [[nodiscard]] int64_t count() const { return count_; }
  // The middle of the bucket in which the q-th part of the values ends; q in 0…1. 0 for no values.
  // Wrong by half a bucket at most: 0.8 %.
  [[nodiscard]] double quantile(double q) const;

  // The buckets that were used: index of the first one, and how many values lie in each.
  [[nodiscard]] size_t first() const { return first_; }
  [[nodiscard]] std::span<const uint32_t> counts() const { return counts_; }

  friend bool operator==(const LogHistogram&, const LogHistogram&) = default;

 private:
  uint32_t& bucket(size_t index);

  size_t first_ = 0;
  std::vector<uint32_t> counts_;
  int64_t count_ = 0;
};

}  // namespace dprof
