// SPDX-License-Identifier: Apache-2.0
// Walks a rank's collectives along with a sweep over its time.
#pragma once

#include <algorithm>
#include <vector>

#include "analyzer/match/match.h"
#include "analyzer/waits/waits.h"

namespace dprof::analyzer {

// Spans are in order of their begin; queries are in order of time.
class CommCursor {
 public:
  explicit CommCursor(const std::vector<CommSpan>& spans) : spans_(spans) {}

  // The running collective at `time` that ends last; nullptr = none.
  const CommSpan* at(TraceNs time) {
    std::erase_if(active_, [&](const CommSpan* s) { return s->span.end <= time; });
    for (; next_ < spans_.size() && spans_[next_].span.begin <= time; ++next_) {
      if (spans_[next_].span.end > time) active_.push_back(&spans_[next_]);
    }
    const auto last =
        std::ranges::max_element(active_, {}, [](const CommSpan* s) { return s->span.end; });
    return last == active_.end() ? nullptr : *last;
  }

  // Begin of the next one that at() has not seen yet; INT64_MAX = none.
  [[nodiscard]] TraceNs next_begin() const {
    return next_ < spans_.size() ? spans_[next_].span.begin : TraceNs{INT64_MAX};
  }

 private:
  const std::vector<CommSpan>& spans_;
  size_t next_ = 0;
  std::vector<const CommSpan*> active_;
};

}  // namespace dprof::analyzer
