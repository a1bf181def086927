// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/nccl/sequence.h"

#include <atomic>

#include "collector/wire/nccl_records.h"

namespace dprof::inject::nccl {
namespace {

struct Entry {
  std::atomic<uint64_t> key;  // 0 = never used
  std::atomic<uint64_t> next;
};
constexpr uint64_t kFreed = 1;  // skipped by searches, and reusable
constexpr uint32_t kSequenceProbes = 32;
constexpr uint32_t kCommunicatorShift = 33;  // above the peer and one bit of direction

constinit Entry entries[kMaxCounted] = {};
static_assert((kMaxCounted & (kMaxCounted - 1)) == 0);

uint32_t sequence_place_of(uint64_t key) noexcept {
  return static_cast<uint32_t>((key * 0x9e37'79b9'7f4a'7c15u) >> 40);
}

// The entry for a key counted for the first time; null if there is no room near its slot.
[[gnu::noinline, gnu::cold]] Entry* claim_entry(uint64_t key) noexcept {
  const uint32_t place = sequence_place_of(key);
  for (uint32_t probe = 0; probe < kSequenceProbes; ++probe) {
    Entry& entry = entries[(place + probe) % kMaxCounted];
    uint64_t seen = entry.key.load(std::memory_order_relaxed);
    if (seen > kFreed) continue;
    if (entry.key.compare_exchange_strong(seen, key, std::memory_order_acq_rel)) return &entry;
  }
  return nullptr;
}

}  // namespace

uint64_t next_sequence(uint64_t communicator, int32_t peer, bool send) noexcept {
  if (communicator == 0 || peer < 0) return wire::kNoSequence;
  const uint64_t key = communicator << kCommunicatorShift |
                       uint64_t{static_cast<uint32_t>(peer)} << 1 | (send ? 1u : 0u);
  const uint32_t place = sequence_place_of(key);
  for (uint32_t probe = 0; probe < kSequenceProbes; ++probe) {
    Entry& entry = entries[(place + probe) % kMaxCounted];
    const uint64_t seen = entry.key.load(std::memory_order_acquire);
    if (seen == key) return entry.next.fetch_add(1, std::memory_order_relaxed);
    if (seen == 0) break;
  }
  Entry* entry = claim_entry(key);
  return entry != nullptr ? entry->next.fetch_add(1, std::memory_order_relaxed) : wire::kNoSequence;
}

void forget_sequences(uint64_t communicator) noexcept {
  for (Entry& entry : entries) {
    const uint64_t key = entry.key.load(std::memory_order_relaxed);
    if (key >> kCommunicatorShift == communicator && key > kFreed) {
      entry.next.store(0, std::memory_order_relaxed);  // ready for the next owner
      entry.key.store(kFreed, std::memory_order_release);
    }
  }
}

}  // namespace dprof::inject::nccl
