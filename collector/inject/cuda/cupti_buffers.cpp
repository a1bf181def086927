// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/cuda/cupti_buffers.h"

#include <sys/mman.h>

#include <cstring>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace dprof::inject::cupti {
namespace {

constexpr uint32_t kTouchedAhead = 32;

}  // namespace

bool BufferPool::prepare() noexcept {
  if (base_ != nullptr) return true;
  void* memory = mmap(nullptr, kMaxBuffers * kBufferBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  base_ = static_cast<uint8_t*>(memory);
  return true;
}

void BufferPool::push(Stack& stack, uint32_t index) noexcept {
  uint64_t top = stack.top.load(std::memory_order_relaxed);
  uint64_t wanted = 0;
  do {
    next_[index].store(static_cast<uint32_t>(top), std::memory_order_relaxed);
    wanted = ((top >> 32) + 1) << 32 | index;
  } while (!stack.top.compare_exchange_weak(top, wanted, std::memory_order_release,
                                            std::memory_order_relaxed));
}

uint32_t BufferPool::pop(Stack& stack) noexcept {
  uint64_t top = stack.top.load(std::memory_order_acquire);
  while (static_cast<uint32_t>(top) != kNone) {
    const uint32_t below = next_[static_cast<uint32_t>(top)].load(std::memory_order_relaxed);
    const uint64_t wanted = ((top >> 32) + 1) << 32 | below;
    if (stack.top.compare_exchange_weak(top, wanted, std::memory_order_acquire,
                                        std::memory_order_acquire)) {
      return static_cast<uint32_t>(top);
    }
  }
  return kNone;
}

// The whole stack as a list, in order of pushing.
uint32_t BufferPool::take_all(Stack& stack) noexcept {
  uint64_t top = stack.top.load(std::memory_order_acquire);
  while (!stack.top.compare_exchange_weak(top, ((top >> 32) + 1) << 32, std::memory_order_acquire,
                                          std::memory_order_acquire)) {
  }
  uint32_t oldest = kNone;
  for (auto index = static_cast<uint32_t>(top); index != kNone;) {
    const uint32_t below = next_[index].load(std::memory_order_relaxed);
    next_[index].store(oldest, std::memory_order_relaxed);
    oldest = index;
    index = below;
  }
  return oldest;
}

uint32_t BufferPool::index_of(const uint8_t* buffer) const noexcept {
  const auto offset = reinterpret_cast<uintptr_t>(buffer) - reinterpret_cast<uintptr_t>(base_);
  if (base_ == nullptr || offset >= kMaxBuffers * kBufferBytes || offset % kBufferBytes != 0) {
    return kNone;
  }
  return static_cast<uint32_t>(offset / kBufferBytes) + 1;
}

void BufferPool::count_unread(uint32_t index) noexcept {
  unread_bytes_.fetch_add(valid_bytes_[index].load(std::memory_order_relaxed),
                          std::memory_order_relaxed);
}

uint8_t* BufferPool::give() noexcept {
  if (base_ == nullptr) return nullptr;
  if (const uint32_t index = pop(free_)) return at(index);
  uint32_t fresh = fresh_.load(std::memory_order_relaxed);
  while (fresh < kMaxBuffers) {
    if (fresh_.compare_exchange_weak(fresh, fresh + 1, std::memory_order_relaxed)) {
      return at(fresh + 1);
    }
  }
  uint32_t index = pop(dirty_);
  if (index == kNone) {
    index = pop(finished_);
    if (index == kNone) return nullptr;
    queued_bytes_.fetch_sub(kBufferBytes, std::memory_order_relaxed);
    count_unread(index);
  }
  memset(at(index), 0, kBufferBytes);
  return at(index);
}

bool BufferPool::take(uint8_t* buffer, size_t valid_bytes) noexcept {
  const uint32_t index = index_of(buffer);
  if (index == kNone) return false;
  const size_t valid = valid_bytes < kBufferBytes ? valid_bytes : kBufferBytes;
  valid_bytes_[index].store(static_cast<uint32_t>(valid), std::memory_order_relaxed);
  // Whole buffers count, however full they are: the cap is on memory.
  const uint64_t before = queued_bytes_.fetch_add(kBufferBytes, std::memory_order_relaxed);
  if (before + kBufferBytes > kQueueCapBytes) {
    queued_bytes_.fetch_sub(kBufferBytes, std::memory_order_relaxed);
    count_unread(index);
    push(dirty_, index);
    return false;
  }
  push(finished_, index);
  return before + kBufferBytes == kQueueCapBytes / 2;
}

void BufferPool::drop(uint8_t* buffer) noexcept {
  const uint32_t index = index_of(buffer);
  if (index != kNone) push(dirty_, index);
}

BufferPool::Finished BufferPool::next() noexcept {
  if (batch_ == kNone) batch_ = take_all(finished_);
  const uint32_t index = batch_;
  if (index == kNone) return {nullptr, 0};
  batch_ = next_[index].load(std::memory_order_relaxed);
  queued_bytes_.fetch_sub(kBufferBytes, std::memory_order_relaxed);
  return {at(index), valid_bytes_[index].load(std::memory_order_relaxed)};
}

void BufferPool::recycle(uint8_t* buffer) noexcept {
  const uint32_t index = index_of(buffer);
  if (index == kNone) return;
  memset(buffer, 0, kBufferBytes);
  push(free_, index);
}

void BufferPool::tidy() noexcept {
  if (base_ == nullptr) return;
  while (const uint32_t index = pop(dirty_)) recycle(at(index));
  const uint32_t fresh = fresh_.load(std::memory_order_relaxed);
  uint32_t touched = touched_.load(std::memory_order_relaxed);
  if (touched < fresh) touched = fresh;
  while (touched < kMaxBuffers && touched < fresh + kTouchedAhead) {
    // Old kernels do not know the advice: there the pages are allocated on first use.
    madvise(at(touched + 1), kBufferBytes, MADV_POPULATE_WRITE);
    ++touched;
  }
  touched_.store(touched, std::memory_order_relaxed);
}

}  // namespace dprof::inject::cupti
