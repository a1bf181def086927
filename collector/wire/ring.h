// SPDX-License-Identifier: Apache-2.0
// The single-producer, single-consumer ring of one thread. 64-bit counters that never wrap; the
// producer caches the tail.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "collector/wire/layout.h"

namespace dprof::wire {

inline constexpr uint64_t kRingMask = kRingSlots - 1;
static_assert((kRingSlots & kRingMask) == 0);

// The last slots of a ring are reserved for ends: every range that could begin can also end, so a
// full ring never pairs an end with the wrong range. The very last are for ends of the innermost
// open range; a thread has at most that many of these open at once (inject/threads.h). An end that
// names its range loses only that range.
inline constexpr uint32_t kNestedReserve = 256;
inline constexpr uint32_t kEndReserve = 512;
enum class Room : uint32_t {
  kNestedEnd = 0,
  kNamedEnd = kNestedReserve,
  kOther = kEndReserve,  // every record that is not an end
};
inline constexpr uint64_t kGiveBackSlots = 1024;  // a reader returns room this often

// Not PRIVATE: it crosses processes. errno stays the caller's: hooks run inside any code.
inline void futex_wake(std::atomic<uint32_t>& word) noexcept {
  const int kept = errno;
  syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  errno = kept;
}

// Invariant  head_ == shared_->head; no other writer.
// Threading  used by its own thread only.
class RingWriter {
 public:
  RingWriter() = default;
  RingWriter(RingShared* shared, Record* slots, ControlPage* control) noexcept
      : shared_(shared),
        slots_(slots),
        control_(control),
        head_(shared->head.load(std::memory_order_relaxed)),
        tail_seen_(shared->tail.load(std::memory_order_acquire)),
        wake_at_(head_ + kRingSlots / 2),
        time_at_(head_ + kFirstTimed) {}

  // HOT PATH, on the training thread. Budget: p50 <= 60 ns (bench/ring_write.cpp), the rdtsc of the
  // caller included. No allocation, lock, system call or log (but for the wake-up of a sleeping
  // recorder at half full). A full ring drops the new record and counts it; for records other than
  // ends it is full earlier. `tail` is written by another process: a wrong value costs records,
  // never memory.
  [[gnu::always_inline]] inline bool push(const Record& record, Room room = Room::kOther) noexcept {
    const auto reserve = static_cast<uint32_t>(room);
    if (head_ + reserve - tail_seen_ >= kRingSlots) [[unlikely]] {
      if (!make_room(1 + reserve, record.ticks)) return false;
    }
    slots_[head_ & kRingMask] = record;
    publish(1);
    return true;
  }

  // The same for a record with `more_bytes` of continuation, at most (kMaxSlots - 1) * kSlotBytes.
  inline bool push(Record record, const void* more, uint32_t more_bytes,
                   Room room = Room::kOther) noexcept {
    const auto reserve = static_cast<uint32_t>(room);
    const uint32_t slots = 1 + (more_bytes + kSlotBytes - 1) / kSlotBytes;
    if (slots > kMaxSlots) return false;
    if (head_ + slots + reserve - tail_seen_ > kRingSlots &&
        !make_room(slots + reserve, record.ticks)) {
      return false;
    }
    record.slots = static_cast<uint8_t>(slots);
    slots_[head_ & kRingMask] = record;
    const auto* from = static_cast<const unsigned char*>(more);
    for (uint32_t slot = 1; slot < slots; ++slot, from += kSlotBytes, more_bytes -= kSlotBytes) {
      std::memcpy(static_cast<void*>(&slots_[(head_ + slot) & kRingMask]), from,
                  more_bytes < kSlotBytes ? more_bytes : kSlotBytes);
    }
    publish(slots);
    return true;
  }

  [[nodiscard]] bool valid() const noexcept { return shared_ != nullptr; }

  // HOT PATH, on the training thread. Budget: 1 ns. Whether the call that begins now is to be
  // timed.
  [[gnu::always_inline, nodiscard]] inline bool timing_due() const noexcept {
    return head_ >= time_at_;
  }
  // Adds the duration of a timed call. Capped: time in which the thread was not running is not the
  // hook's cost.
  [[gnu::noinline, gnu::cold]] void note_time(uint64_t ticks) noexcept {
    HookTimes& hooks = shared_->hooks;
    const uint64_t timed = hooks.timed.load(std::memory_order_relaxed) + 1;
    hooks.calls.store(head_, std::memory_order_relaxed);
    hooks.timed_ticks.store(hooks.timed_ticks.load(std::memory_order_relaxed) +
                                (ticks < kMostTimedTicks ? ticks : kMostTimedTicks),
                            std::memory_order_relaxed);
    hooks.timed.store(timed, std::memory_order_relaxed);
    // Out of step with the program, because begins and ends alternate.
    time_at_ = head_ + kTimedEvery - 4 + (timed * 5 & 7);
  }

 private:
  static constexpr uint64_t kFirstTimed = 16;            // the first calls find cold memory
  static constexpr uint64_t kMostTimedTicks = 1u << 15;  // 11 us at 3 GHz

  [[gnu::always_inline]] inline void publish(uint32_t slots) noexcept {
    head_ += slots;
    shared_->head.store(head_, std::memory_order_release);
    if (head_ >= wake_at_) [[unlikely]] {
      wake_recorder();
    }
  }

  // Reads the recorder's tail again; counts the drop if there is still no room.
  [[gnu::noinline, gnu::cold]] bool make_room(uint32_t slots, uint64_t ticks) noexcept {
    tail_seen_ = shared_->tail.load(std::memory_order_acquire);
    if (head_ + slots - tail_seen_ <= kRingSlots) return true;
    count_loss(shared_->dropped, ticks);
    return false;
  }

  [[gnu::noinline, gnu::cold]] void wake_recorder() noexcept {
    tail_seen_ = shared_->tail.load(std::memory_order_acquire);
    const uint64_t used = head_ - tail_seen_;
    wake_at_ = head_ + (used >= kRingSlots / 2 ? kRingSlots / 8 : kRingSlots / 2 - used);
    if (used < kRingSlots / 2) return;
    if (control_->recorder_asleep.exchange(0, std::memory_order_acq_rel) == 0) return;
    control_->wake.fetch_add(1, std::memory_order_release);
    futex_wake(control_->wake);
  }

  RingShared* shared_ = nullptr;
  Record* slots_ = nullptr;
  ControlPage* control_ = nullptr;
  uint64_t head_ = 0;
  uint64_t tail_seen_ = 0;
  uint64_t wake_at_ = 0;
  uint64_t time_at_ = 0;
};

// Reads what a RingWriter in another, untrusted process wrote.
//
// Invariant  tail_ only grows; every index is masked, so a wrong head costs records, never memory.
// Threading  one thread.
class RingReader {
 public:
  RingReader() = default;
  RingReader(RingShared* shared, const Record* slots) noexcept
      : shared_(shared), slots_(slots), tail_(shared->tail.load(std::memory_order_relaxed)) {}

  // Passes every available record to visit(const ReadRecord&) and gives the slots back as it goes,
  // so that a slow visitor does not hold the whole ring. Returns their number. An out-of-range head
  // is treated as damage (damaged()): everything up to it is skipped, but records already read are
  // not read again when a head goes back.
  template <typename Visit>
  uint64_t drain(Visit&& visit) noexcept(noexcept(visit(ReadRecord{}))) {
    const uint64_t head_untrusted = shared_->head.load(std::memory_order_acquire);
    if (head_untrusted - tail_ > kRingSlots) {
      damaged_ = true;
      if (tail_ - head_untrusted <= kRingSlots) return 0;
      tail_ = head_untrusted;
      shared_->tail.store(tail_, std::memory_order_release);
      return 0;
    }
    uint64_t count = 0;
    uint64_t given_back = tail_;
    ReadRecord read;
    while (tail_ != head_untrusted) {
      std::memcpy(&read.record, static_cast<const void*>(&slots_[tail_ & kRingMask]), kSlotBytes);
      uint64_t slots = read.record.slots;
      if (slots < 1 || slots > kMaxSlots || slots > head_untrusted - tail_) {
        damaged_ = true;
        slots = 1;
        read.record.kind = Kind::kNone;
      }
      read.more_bytes = static_cast<uint32_t>(slots - 1) * kSlotBytes;
      for (uint64_t slot = 1; slot < slots; ++slot) {
        std::memcpy(read.more + (slot - 1) * kSlotBytes,
                    static_cast<const void*>(&slots_[(tail_ + slot) & kRingMask]), kSlotBytes);
      }
      tail_ += slots;
      ++count;
      visit(static_cast<const ReadRecord&>(read));
      if (tail_ - given_back >= kGiveBackSlots) {
        given_back = tail_;
        shared_->tail.store(tail_, std::memory_order_release);
      }
    }
    shared_->tail.store(tail_, std::memory_order_release);
    return count;
  }

  [[nodiscard]] bool damaged() const noexcept { return damaged_; }

 private:
  RingShared* shared_ = nullptr;
  const Record* slots_ = nullptr;
  uint64_t tail_ = 0;
  bool damaged_ = false;
};

}  // namespace dprof::wire
