// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/memory_snapshot/replay.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace dprof::analyzer::memory_snapshot {
namespace {

constexpr int64_t kBlockBytes = 512;  // the allocator's blocks are multiples of this
constexpr int64_t kMostHeld = int64_t{1} << 60;

// Reserved addresses: segments, or parts of expandable ones.
class Reserved {
 public:
  bool put(uint64_t begin, int64_t bytes) {
    const uint64_t end = begin + static_cast<uint64_t>(bytes);
    const auto next = pieces_.lower_bound(begin);
    if (next != pieces_.end() && next->first < end) return false;
    if (next != pieces_.begin() && std::prev(next)->second > begin) return false;
    pieces_.emplace_hint(next, begin, end);
    return true;
  }

  // Takes all of it, or nothing.
  bool take(uint64_t begin, int64_t bytes) {
    const uint64_t end = begin + static_cast<uint64_t>(bytes);
    auto first = pieces_.upper_bound(begin);
    if (first == pieces_.begin()) return false;
    --first;
    uint64_t covered = first->second;
    if (covered <= begin) return false;
    auto after = std::next(first);
    for (; covered < end; ++after) {
      if (after == pieces_.end() || after->first != covered) return false;
      covered = after->second;
    }
    const uint64_t head = first->first;
    pieces_.erase(first, after);
    if (head < begin) pieces_[head] = begin;
    if (covered > end) pieces_[end] = covered;
    return true;
  }

  [[nodiscard]] std::vector<Segment> all() const {
    std::vector<Segment> segments;
    for (const auto& [begin, end] : pieces_)
      segments.push_back({begin, static_cast<int64_t>(end - begin)});
    return segments;
  }

 private:
  std::map<uint64_t, uint64_t> pieces_;  // begin, end; they can touch, but do not overlap
};

class Backwards {
 public:
  explicit Backwards(const DeviceState& device) : device_(device) {
    for (const Block& block : device.active) {
      const bool is_new = live_.emplace(block.address, block).second;
      replay_.active_bytes += is_new ? block.bytes : 0;
      replay_.repeated += is_new ? 0 : 1;
    }
    for (const Segment& segment : device.segments) {
      if (segment.bytes == 0) continue;
      const bool is_new = reserved_.put(segment.address, segment.bytes);
      replay_.reserved_bytes += is_new ? segment.bytes : 0;
      replay_.repeated += is_new ? 0 : 1;
    }
  }

  Result<Replay> run() {
    replay_.bytes.assign(device_.events.size(), 0);
    for (size_t i = device_.events.size(); i > 0; --i) {
      replay_.bytes[i - 1] = undo(device_.events[i - 1]);
      if (freed_ > kMostHeld) return fail(Code::kDamaged, "the sizes of its events are impossible");
    }
    replay_.segments = reserved_.all();
    for (const auto& [address, block] : live_) {
      replay_.freed_blocks += block.frames == kFreedLater ? 1 : 0;
      replay_.blocks.push_back(block);
      if (block.frames == kFreedLater) replay_.blocks.back().frames = PlainData::kNothing;
    }
    return std::move(replay_);
  }

 private:
  static constexpr PlainData::Id kFreedLater = PlainData::kNothing - 1;  // beyond any real node

  int64_t undo(const Event& event) {
    switch (event.action) {
      case Action::kAlloc: {
        const auto made = live_.find(event.address);
        if (made == live_.end()) return kDoesNotFit;
        const int64_t bytes = made->second.bytes;
        live_.erase(made);
        return bytes;
      }
      case Action::kFree: {
        const int64_t bytes = event.bytes + (-event.bytes & (kBlockBytes - 1));
        const Block block{.address = event.address,
                          .bytes = bytes,
                          .requested = event.bytes,
                          .frames = kFreedLater};
        if (!live_.emplace(event.address, block).second) return kDoesNotFit;
        freed_ += bytes;
        return bytes;
      }
      case Action::kSegmentAlloc:
        return event.bytes > 0 && reserved_.take(event.address, event.bytes) ? event.bytes
                                                                             : kDoesNotFit;
      case Action::kSegmentFree:
        if (event.bytes <= 0 || !reserved_.put(event.address, event.bytes)) return kDoesNotFit;
        freed_ += event.bytes;
        return event.bytes;
      default:
        return 0;
    }
  }

  const DeviceState& device_;
  Replay replay_;
  std::map<uint64_t, Block> live_;
  Reserved reserved_;
  int64_t freed_ = 0;
};

}  // namespace

Result<Replay> replay_of(const DeviceState& device) { return Backwards(device).run(); }

}  // namespace dprof::analyzer::memory_snapshot
