// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/memory/memory_blocks.h"

#include <algorithm>
#include <iterator>

namespace dprof::analyzer {

void LiveBlocks::remember_free(LiveBlock block, int64_t time_ns) {
  block.freed_ns = time_ns;
  if (peak_ && block.serial < peak_serial_) freed_since_peak_.push_back(block);
}

void LiveBlocks::forget_overlapped(uint64_t begin, int64_t bytes, int64_t time_ns) {
  const uint64_t end = begin + static_cast<uint64_t>(std::max<int64_t>(bytes, 1));
  auto at = live_.lower_bound(begin);
  if (at != live_.begin()) {
    const auto before = std::prev(at);
    if (before->first + static_cast<uint64_t>(before->second.bytes) > begin) at = before;
  }
  while (at != live_.end() && at->first < end) {
    ++reused_;
    level_ -= at->second.bytes;
    remember_free(at->second, time_ns);
    at = live_.erase(at);
  }
}

void LiveBlocks::allocate(int64_t time_ns, int64_t address, int64_t bytes, int64_t thread,
                          schema::MemoryCategory said, int64_t stack) {
  const int64_t serial = next_serial_++;
  if (address != 0) {
    const auto begin = static_cast<uint64_t>(address);
    forget_overlapped(begin, bytes, time_ns);
    live_[begin] = {.bytes = bytes,
                    .serial = serial,
                    .born_ns = time_ns,
                    .thread = thread,
                    .stack = stack,
                    .said = said};
  }
  level_ += bytes;
}

int64_t LiveBlocks::free(int64_t time_ns, int64_t address, int64_t bytes) {
  const auto known = address != 0 ? live_.find(static_cast<uint64_t>(address)) : live_.end();
  if (known == live_.end()) {
    level_ -= bytes;
    if (address == 0) return bytes;
    ++unmatched_frees_;
    offset_ += bytes;
    remember_free({.bytes = bytes}, time_ns);
    return bytes;
  }
  LiveBlock block = known->second;
  live_.erase(known);
  // A block known only by name can be larger than its named part.
  if (block.serial < 0 && bytes > block.bytes) {
    offset_ += bytes - block.bytes;
    block.bytes = bytes;
  }
  level_ -= block.bytes;
  remember_free(block, time_ns);
  return block.bytes;
}

LiveBlocks::Live::iterator LiveBlocks::holder_of(uint64_t address) {
  auto after = live_.upper_bound(address);
  if (after == live_.begin()) return live_.end();
  const auto holder = std::prev(after);
  const uint64_t length = static_cast<uint64_t>(std::max<int64_t>(holder->second.bytes, 1));
  return address - holder->first < length ? holder : live_.end();
}

void LiveBlocks::name(int64_t address, int64_t bytes, schema::MemoryCategory category) {
  if (address == 0) return;
  const auto at = static_cast<uint64_t>(address);
  if (const auto holder = holder_of(at); holder != live_.end()) {
    // Gradients can be views of buckets: the bucket is the block.
    if (holder->second.said != schema::MemoryCategory::kBucket) holder->second.said = category;
    return;
  }
  // A bucket can be named after its gradients: those known only by name are parts of it. Blocks
  // whose allocation was recorded are kept.
  bool seen = false;
  const uint64_t length = static_cast<uint64_t>(std::max<int64_t>(bytes, 1));
  for (auto part = live_.lower_bound(at); part != live_.end() && part->first - at < length;) {
    if (part->second.serial >= 0) {
      seen = true;
      part->second.said = category;
      ++part;
    } else {
      offset_ -= part->second.bytes;
      part = live_.erase(part);
    }
  }
  if (seen) return;
  // It existed all the time: the level does not change.
  live_[at] = {.bytes = bytes, .said = category};
  offset_ += bytes;
}

bool LiveBlocks::reached(int64_t level) {
  if (peak_ && level <= *peak_) return false;
  peak_ = level;
  peak_serial_ = next_serial_;
  freed_since_peak_.clear();
  return true;
}

std::vector<LiveBlock> LiveBlocks::at_peak() const {
  std::vector<LiveBlock> blocks = freed_since_peak_;
  for (const auto& [address, block] : live_) {
    if (block.serial < peak_serial_) blocks.push_back(block);
  }
  return blocks;
}

std::vector<LiveBlock> LiveBlocks::at_end() const {
  std::vector<LiveBlock> blocks;
  for (const auto& [address, block] : live_) {
    if (block.serial >= 0) blocks.push_back(block);
  }
  return blocks;
}

}  // namespace dprof::analyzer
