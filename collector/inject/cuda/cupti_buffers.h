// SPDX-License-Identifier: Apache-2.0
// The buffers that CUPTI fills: one reserved address range, cut into buffers of 128 KiB that are
// all zero when handed to CUPTI (so that it need not zero them on the launching thread).
//
//   free ─ give() ─▶ with CUPTI ─ take() ─▶ finished ─ next() ─▶ being read ─ recycle() ─▶ free
//                                    └─ over the cap, or drop(): dirty ─ helper or give() ─▶ free
//
// Threading  give(), take() and drop() on any thread, lock-free; the rest by the helper.
// Cost       give() and take(): a compare-and-swap, and page faults on the first use of a buffer
//            that the helper has not touched yet.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace dprof::inject::cupti {

// 600 kernels. CUPTI holds a buffer back until all its records are finished, so a killed program
// loses that many; with buffers of 1 MiB recording cost more, not less (docs/gpu_results.md).
inline constexpr size_t kBufferBytes = size_t{128} << 10;
inline constexpr uint32_t kMaxBuffers = 1024;  // the queue's, those being read, one per thread
inline constexpr uint64_t kQueueCapBytes = uint64_t{64} << 20;  // finished and not yet read

class BufferPool {
 public:
  // Reserves the addresses, once. False if that fails.
  bool prepare() noexcept;

  // HOT PATH, on launching threads, once per buffer. No allocation, no lock. If no buffer is left,
  // a finished one is reused unread and counted; null only if CUPTI holds them all.
  uint8_t* give() noexcept;

  // HOT PATH, on launching threads and CUPTI's own. Only queues; past the cap of the queue the
  // buffer is returned unread and its bytes are counted. Ignores foreign buffers. Returns true when
  // the queue has just become half full: the helper should then wake up.
  bool take(uint8_t* buffer, size_t valid_bytes) noexcept;

  // HOT PATH, likewise: the content is not wanted.
  void drop(uint8_t* buffer) noexcept;

  struct Finished {
    uint8_t* data;  // null: none
    size_t valid_bytes;
  };
  // The next finished buffer, usually oldest first; the helper returns it with recycle().
  Finished next() noexcept;
  void recycle(uint8_t* buffer) noexcept;

  // Zeroes dirty buffers and touches some free ones ahead of use.
  void tidy() noexcept;

  // Valid bytes left unread since the last call.
  uint64_t take_unread_bytes() noexcept { return unread_bytes_.exchange(0); }
  [[nodiscard]] uint64_t queued_bytes() const noexcept { return queued_bytes_.load(); }

 private:
  static constexpr uint32_t kNone = 0;  // indices on lists count from 1

  // A stack of buffers. The upper half of the word counts its changes, to detect an index that was
  // popped and pushed meanwhile.
  struct Stack {
    std::atomic<uint64_t> top = 0;
  };
  void push(Stack& stack, uint32_t index) noexcept;
  uint32_t pop(Stack& stack) noexcept;
  uint32_t take_all(Stack& stack) noexcept;
  [[nodiscard]] uint8_t* at(uint32_t index) const noexcept {
    return base_ + size_t{index - 1} * kBufferBytes;
  }
  uint32_t index_of(const uint8_t* buffer) const noexcept;
  void count_unread(uint32_t index) noexcept;

  uint8_t* base_ = nullptr;
  Stack free_;
  Stack finished_;
  Stack dirty_;
  std::atomic<uint32_t> fresh_ = 0;  // buffers from here on are unused so far
  uint32_t batch_ = kNone;           // the helper's: taken off `finished_`, oldest first
  std::atomic<uint32_t> touched_ = 0;
  std::atomic<uint64_t> queued_bytes_ = 0;
  std::atomic<uint64_t> unread_bytes_ = 0;
  std::atomic<uint32_t> next_[kMaxBuffers + 1] = {};
  std::atomic<uint32_t> valid_bytes_[kMaxBuffers + 1] = {};
};

}  // namespace dprof::inject::cupti
