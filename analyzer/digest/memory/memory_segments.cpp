// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/memory/memory_segments.h"

#include <algorithm>
#include <iterator>

namespace dprof::analyzer {

Segments::Map::iterator Segments::holder_of(int64_t address) {
  const auto at = static_cast<uint64_t>(address);
  const auto after = segments_.upper_bound(at);
  if (after == segments_.begin()) return segments_.end();
  const auto holder = std::prev(after);
  return at - holder->first < static_cast<uint64_t>(holder->second.bytes) ? holder
                                                                          : segments_.end();
}

void Segments::allocate(int64_t address, int64_t bytes) {
  any_ = true;
  Segment& segment = segments_[static_cast<uint64_t>(address)];
  split_ -= split_of(segment);
  reserved_ += bytes - segment.bytes;
  segment = {.bytes = bytes, .used = 0};
}

void Segments::free(int64_t address, int64_t bytes) {
  any_ = true;
  const auto known = segments_.find(static_cast<uint64_t>(address));
  if (known == segments_.end()) {
    reserved_ -= bytes;
    offset_ += bytes;
    return;
  }
  split_ -= split_of(known->second);
  reserved_ -= known->second.bytes;
  segments_.erase(known);
}

void Segments::add_use(Segment& segment, int64_t bytes) {
  split_ -= split_of(segment);
  segment.used = std::max<int64_t>(0, segment.used + bytes);
  split_ += split_of(segment);
}

void Segments::use(int64_t address, int64_t bytes) {
  if (const auto holder = holder_of(address); holder != segments_.end()) {
    add_use(holder->second, bytes);
  } else {
    outside_ += bytes;
  }
}

void Segments::release(int64_t address, int64_t bytes) {
  if (const auto holder = holder_of(address); holder != segments_.end()) {
    add_use(holder->second, -bytes);
  } else {
    outside_ = std::max<int64_t>(0, outside_ - bytes);
  }
}

std::optional<int64_t> Segments::split() const {
  if (!any_ || outside_ > 0) return std::nullopt;
  return split_;
}

}  // namespace dprof::analyzer
