// SPDX-License-Identifier: Apache-2.0
// A device's allocator segments, and the free part of them that cannot be released.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace dprof::analyzer {

// Follows segments and the blocks in them. Memory O(segments).
class Segments {
 public:
  // A segment already present is assumed to have been freed without a record. Bytes >= 0.
  void allocate(int64_t address, int64_t bytes);
  void free(int64_t address, int64_t bytes);
  void use(int64_t address, int64_t bytes);  // a block within a segment, known or not
  void release(int64_t address, int64_t bytes);

  [[nodiscard]] bool any() const { return any_; }
  [[nodiscard]] int64_t reserved() const { return reserved_; }  // counted, from 0
  [[nodiscard]] int64_t offset() const { return offset_; }      // of segments from before
  // Free bytes in partly used segments; nullopt = some blocks are in no known segment.
  [[nodiscard]] std::optional<int64_t> split() const;

 private:
  struct Segment {
    int64_t bytes = 0;
    int64_t used = 0;
  };
  using Map = std::map<uint64_t, Segment>;
  [[nodiscard]] Map::iterator holder_of(int64_t address);
  [[nodiscard]] static int64_t split_of(const Segment& segment) {
    return segment.used > 0 && segment.used < segment.bytes ? segment.bytes - segment.used : 0;
  }
  void add_use(Segment& segment, int64_t bytes);

  Map segments_;
  int64_t reserved_ = 0;
  int64_t offset_ = 0;
  int64_t split_ = 0;
  int64_t outside_ = 0;  // bytes of blocks outside all known segments
  bool any_ = false;
};

}  // namespace dprof::analyzer
