// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/cloud.h"

#include <algorithm>

namespace dprof::analyzer {

Point Cloud::relative(TraceNs at, int64_t offset_ns) {
  if (!has_origin_) {
    has_origin_ = true;
    origin_ = at;
    base_ns_ = offset_ns;
  }
  return {static_cast<double>((at - origin_).ns), static_cast<double>(offset_ns - base_ns_)};
}

void Cloud::sort() {
  for (std::vector<Point>* points : {&lower, &upper, &middle}) {
    if (!std::ranges::is_sorted(*points, {}, &Point::t))
      std::ranges::stable_sort(*points, {}, &Point::t);
  }
}

}  // namespace dprof::analyzer
