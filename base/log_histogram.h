// SPDX-License-Identifier: Apache-2.0
// A histogram of durations whose buckets have a fixed relative width, so that the histograms of
// several ranks can be added and quantiles taken from the sum (docs/analysis.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dprof {

// 64 linear buckets per octave, each 0.8 to 1.6 % wide; values below 128 are exact. Stores only the
// range of buckets in use: at most 3,712. Not thread-safe.
class LogHistogram {
 public:
  LogHistogram() = default;
  // As returned by `first()` and `counts()`.
  LogHistogram(size_t first, std::vector<uint32_t> counts);

  // Negative values count as 0. O(1), occasionally O(buckets).
  void add(int64_t value);
  void merge(const LogHistogram& other);

  [[nodiscard]] int64_t count() const { return count_; }
  // The middle of the bucket that contains the quantile q (0…1); 0 if there are no values. Off by
  // at most half a bucket: 0.8 %.
  [[nodiscard]] double quantile(double q) const;

  // The buckets in use: index of the first one, and the number of values in each.
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
