// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/bucket_model.h"

#include <algorithm>
#include <limits>

namespace dprof::analyzer {

std::vector<ReadyBytes> in_buckets(std::span<const ReadyBytes> gradients,
                                   std::optional<int64_t> cap) {
  constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  std::vector<ReadyBytes> buckets;
  int64_t limit = cap ? kFirstBucketBytes : kNoLimit;
  bool open = false;
  for (const ReadyBytes& gradient : gradients) {
    if (open) {
      buckets.back().ready_ns = std::max(buckets.back().ready_ns, gradient.ready_ns);
      buckets.back().bytes += gradient.bytes;
    } else {
      buckets.push_back(gradient);
    }
    open = buckets.back().bytes < limit;
    if (!open) limit = cap.value_or(kNoLimit);
  }
  return buckets;
}

double exposed_after(std::span<const ReadyBytes> buckets, const TransferCost& cost,
                     int64_t backward_end_ns) {
  double end = -std::numeric_limits<double>::infinity();
  for (const ReadyBytes& bucket : buckets) {
    // Relative to the end of backward: the differences are small, and exact as doubles.
    const auto ready = static_cast<double>(bucket.ready_ns - backward_end_ns);
    end =
        std::max(end, ready) + cost.alpha_ns + cost.per_byte_ns * static_cast<double>(bucket.bytes);
  }
  return std::max(0.0, end);
}

double least_exposed_after(std::span<const ReadyBytes> gradients, const TransferCost& cost,
                           int64_t backward_end_ns) {
  double exposed = 0;
  int64_t bytes = 0;  // that become ready no earlier than the current gradient
  for (size_t i = gradients.size(); i-- > 0;) {
    bytes += gradients[i].bytes;
    const auto ready = static_cast<double>(gradients[i].ready_ns - backward_end_ns);
    exposed =
        std::max(exposed, ready + cost.alpha_ns + cost.per_byte_ns * static_cast<double>(bytes));
  }
  return exposed;
}

}  // namespace dprof::analyzer
