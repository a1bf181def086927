// SPDX-License-Identifier: Apache-2.0
// Offsets in torch's classes that a hook reads, as data: TensorImpl, IValue's tags and ProcessGroup
// change from 2.6 on, and RecordFunction differs with the old std::string, so the inline functions
// of one release's headers misread another's objects. The same readers serve the release that this
// library is built with.
//
// Threading  `layout` is set once, before a hook of ours is installed; the rest is for any thread.
#pragma once

#include <ATen/record_function.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace dprof::inject::torch_source {

// Offsets in bytes.
struct TorchLayout {
  uint32_t minor;  // of torch 2.MINOR, the first release with this layout
  // c10::TensorImpl
  uint32_t sizes;
  uint32_t numel;
  uint32_t data_type;
  uint32_t device;
  uint32_t keys;
  // c10::IValue
  uint32_t list_tag;
  uint32_t object_tag;
  // c10::DispatchKeySet: the bit of tensors whose answers may come from Python
  uint64_t python_key;
  // c10d::ProcessGroup: its backends by type
  uint32_t backends;
  // Virtual function slots; 0 = none, as for every unknown build: no probe can determine them.
  // c10d::Backend::getBackendOptions() and, in its result, the global ranks
  uint32_t options_slot;
  uint32_t global_ranks;
  // CUDAAllocator::attachAllocatorTraceTracker() and getDeviceStats()
  uint32_t trace_slot;
  uint32_t stats_slot;
  // at::RecordFunction
  uint32_t sequence = 0;
  uint32_t inputs = 0;
};

extern constinit TorchLayout layout;

// The release of this process, from aoti_torch_abi_version(): 2.MINOR.
[[nodiscard]] uint32_t torch_minor() noexcept;

// Sets `layout` for 2.MINOR, the newest one for later releases. False: the release is too old.
// `known`: exactly this build was measured, not only its release.
[[nodiscard]] bool choose_layout(uint32_t minor, bool known) noexcept;

template <typename T>
[[nodiscard]] inline T read_at(const void* object, size_t offset) noexcept {
  T value;
  memcpy(&value, static_cast<const char*>(object) + offset, sizeof value);
  return value;
}

// A c10::TensorImpl.
class TensorView {
 public:
  explicit TensorView(const void* impl) noexcept : impl_(impl) {}

  [[nodiscard]] bool defined() const noexcept;
  // The numbers below are valid: it is not sparse, and no subclass answers from Python, which a
  // hook must not trigger.
  [[nodiscard]] bool plain() const noexcept {
    constexpr uint64_t kSparse = uint64_t{1} << 23;
    constexpr uint64_t kSparseCsr = uint64_t{1} << 24;
    return (read_at<uint64_t>(impl_, layout.keys) & (layout.python_key | kSparse | kSparseCsr)) ==
           0;
  }
  [[nodiscard]] uint64_t dimensions() const noexcept {
    return read_at<uint64_t>(impl_, layout.sizes);
  }
  [[nodiscard]] int64_t numel() const noexcept { return read_at<int64_t>(impl_, layout.numel); }
  // A c10::ScalarType, or a program-defined type.
  [[nodiscard]] uint16_t data_type() const noexcept {
    return read_at<uint16_t>(impl_, layout.data_type);
  }
  // c10::Device: -1 = it has none.
  [[nodiscard]] int8_t device_type() const noexcept {
    constexpr size_t kHasDevice = 2;
    return read_at<bool>(impl_, layout.device + kHasDevice) ? read_at<int8_t>(impl_, layout.device)
                                                            : int8_t{-1};
  }
  [[nodiscard]] int8_t device_index() const noexcept {
    return read_at<int8_t>(impl_, layout.device + 1);
  }
  // A c10::StorageImpl; null = it has none.
  [[nodiscard]] const void* storage() const noexcept { return read_at<const void*>(impl_, 16); }

 private:
  const void* impl_;
};

inline constexpr int8_t kCpuDevice = 0;
inline constexpr int8_t kCudaDevice = 1;

[[nodiscard]] inline const void* data_of_storage(const void* storage) noexcept {
  return read_at<const void*>(storage, 16);
}
[[nodiscard]] inline int64_t bytes_of_storage(const void* storage) noexcept {
  return read_at<int64_t>(storage, 48);
}

// A c10::IValue.
class ValueView {
 public:
  [[nodiscard]] bool is_tensor() const noexcept { return tag_ == 1; }
  [[nodiscard]] TensorView tensor() const noexcept { return TensorView(payload_); }
  [[nodiscard]] bool is_int() const noexcept { return tag_ == 5; }
  [[nodiscard]] int64_t number() const noexcept { return read_at<int64_t>(&payload_, 0); }
  [[nodiscard]] bool is_list() const noexcept { return tag_ == layout.list_tag; }
  [[nodiscard]] std::span<const ValueView> list() const noexcept { return vector_at(16); }
  // The object of a custom class with that c10::ClassType, else null.
  [[nodiscard]] const void* object_of(const void* class_type) const noexcept {
    if (tag_ != layout.object_tag || read_at<const void*>(payload_, 64) != class_type) {
      return nullptr;
    }
    const std::span<const ValueView> slots = vector_at(80);
    return slots.size() == 1 ? slots[0].payload_ : nullptr;
  }

 private:
  [[nodiscard]] std::span<const ValueView> vector_at(size_t offset) const noexcept {
    return {read_at<const ValueView*>(payload_, offset),
            read_at<const ValueView*>(payload_, offset + 8)};
  }

  const void* payload_;
  uint32_t tag_;
};
static_assert(sizeof(ValueView) == 16);

[[nodiscard]] inline int64_t sequence_of(const at::RecordFunction& function) noexcept {
  return read_at<int64_t>(&function, layout.sequence);
}

// The arguments of an operator, in its start callback.
[[nodiscard]] inline std::span<const ValueView> inputs_of(
    const at::RecordFunction& function) noexcept {
  return {read_at<const ValueView*>(&function, layout.inputs),
          read_at<size_t>(&function, layout.inputs + sizeof(void*))};
}

}  // namespace dprof::inject::torch_source
