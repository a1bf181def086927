// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/torch/host_memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include "collector/inject/torch/core.h"
#include "collector/wire/enum_values.h"
#include "collector/wire/training_records.h"

namespace dprof::inject::torch_source {
namespace {

constexpr uint32_t kWanted = kMaskTorch | kMaskFull;

constinit c10::Allocator* inner = nullptr;  // set before the wrapper is
constinit c10::DeleterFnPtr inner_free = nullptr;

void write_event(uint8_t kind, const void* address, int64_t bytes) noexcept {
  wire::Record record = record_of(wire::Kind::kMemoryEvent,
                                  wire::MemoryEvent{.address = reinterpret_cast<uintptr_t>(address),
                                                    .bytes = bytes,
                                                    .stream = 0,
                                                    .requested_bytes = bytes,
                                                    .device = wire::kHostDevice,
                                                    .kind = kind,
                                                    .category = wire::memory_category::kUnknown,
                                                    .reserved = 0,
                                                    .reserved_word = 0});
  core->write(nullptr, &record, false);
}

// HOT PATH, on training threads. Budget: 80 ns over the inner one. The size of a block is known
// only at its allocation: the recorder joins the two.
void free_block(void* block) {
  if (block != nullptr && recording(kWanted)) write_event(wire::memory_event_kind::kFree, block, 0);
  inner_free(block);
}

class HostAllocator final : public c10::Allocator {
 public:
  // HOT PATH, on training threads. Budget: 120 ns over the inner one.
  c10::DataPtr allocate(size_t bytes) override {
    c10::DataPtr block = inner->allocate(bytes);
    if (block.get() == nullptr || block.get() != block.get_context() ||
        !block.compare_exchange_deleter(inner_free, &free_block)) {
      return block;
    }
    if (recording(kWanted)) {
      write_event(wire::memory_event_kind::kAlloc, block.get(), static_cast<int64_t>(bytes));
    }
    return block;
  }
  // Also handles a block from before the wrapper, or a null one.
  c10::DeleterFnPtr raw_deleter() const override { return &free_block; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    inner->copy_data(to, from, bytes);
  }
  bool is_simple_data_ptr(const c10::DataPtr& block) const override {
    return block.get() == block.get_context();
  }
};

}  // namespace

bool install_host_memory() {
  // Never destroyed: torch allocates until the process ends.
  static HostAllocator& wrapper = *new HostAllocator;
  c10::Allocator* present = c10::GetCPUAllocator();
  if (present == &wrapper) return true;
  if (inner != nullptr) return false;  // another allocator replaced ours: leave it
  if (present == nullptr || present->raw_deleter() == nullptr) return false;
  inner_free = present->raw_deleter();
  inner = present;
  std::atomic_thread_fence(std::memory_order_release);
  c10::SetCPUAllocator(&wrapper);
  return c10::GetCPUAllocator() == &wrapper;
}

}  // namespace dprof::inject::torch_source
