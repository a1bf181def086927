// SPDX-License-Identifier: Apache-2.0
#include "base/log_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace dprof {
namespace {

constexpr unsigned kSubBits = 6;
constexpr uint64_t kSub = uint64_t{1} << kSubBits;

// Values below 2 * kSub have their own bucket; above, the highest bit selects the octave and the
// next kSubBits bits the bucket within it.
size_t index_of(int64_t value) {
  const auto v = static_cast<uint64_t>(std::max<int64_t>(0, value));
  if (v < 2 * kSub) return v;
  const auto shift = static_cast<unsigned>(std::bit_width(v)) - kSubBits - 1;
  return shift * kSub + (v >> shift);
}

double middle_of(size_t index) {
  if (index < 2 * kSub) return static_cast<double>(index);
  const size_t shift = index / kSub - 1;
  const auto low = static_cast<double>((index - shift * kSub) << shift);
  return low + (static_cast<double>(uint64_t{1} << shift) - 1) / 2;
}

void add_to(uint32_t& count, uint64_t more) {
  count = static_cast<uint32_t>(
      std::min<uint64_t>(uint64_t{count} + more, std::numeric_limits<uint32_t>::max()));
}

}  // namespace

LogHistogram::LogHistogram(size_t first, std::vector<uint32_t> counts)
    : first_(first),
      counts_(std::move(counts)),
      count_(std::accumulate(counts_.begin(), counts_.end(), int64_t{0})) {}

uint32_t& LogHistogram::bucket(size_t index) {
  if (counts_.empty()) first_ = index;
  if (index < first_) {
    counts_.insert(counts_.begin(), first_ - index, 0);
    first_ = index;
  }
  if (index - first_ >= counts_.size()) counts_.resize(index - first_ + 1);
  return counts_[index - first_];
}

void LogHistogram::add(int64_t value) {
  add_to(bucket(index_of(value)), 1);
  ++count_;
}

void LogHistogram::merge(const LogHistogram& other) {
  if (other.counts_.empty()) return;
  bucket(other.first_ + other.counts_.size() - 1);
  bucket(other.first_);
  for (size_t i = 0; i < other.counts_.size(); ++i)
    add_to(counts_[other.first_ - first_ + i], other.counts_[i]);
  count_ += other.count_;
}

double LogHistogram::quantile(double q) const {
  if (count_ == 0) return 0;
  const double wanted =
      std::max(1.0, std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(count_)));
  int64_t passed = 0;
  size_t last = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 0) continue;
    passed += counts_[i];
    last = i;
    if (static_cast<double>(passed) >= wanted) break;
  }
  return middle_of(first_ + last);
}

}  // namespace dprof
