// SPDX-License-Identifier: Apache-2.0
// An event's handle as NCCL receives and returns it: a number, never a pointer. NCCL uses handles
// as parents after their own stop, and (PXN) passes them to other processes; a number cannot
// dangle.
//
//   ring + 1 (10 bits) · count on that ring (48) · flags (2) · type (4)
#pragma once

#include <cstdint>

namespace dprof::inject::nccl {

enum class Type : uint8_t {
  kGroupApi = 1,
  kCall = 2,
  kCollective = 3,
  kPointToPoint = 4,
  kLaunch = 5,
  kProxyOp = 6,
  kProxyStep = 7,  // its number is that of its operation
  kKernelChannel = 8
};

inline constexpr uint64_t kTypeBits = 15;
inline constexpr uint64_t kCapturedBit = 16;       // of a call: in a CUDA graph
inline constexpr uint64_t kImplicitGroupBit = 32;  // of a group: NCCL made it for one call
inline constexpr uint32_t kCountShift = 6;
inline constexpr uint32_t kRingShift = 54;

[[nodiscard]] inline uint64_t make_id(uint32_t ring, uint64_t count, Type type,
                                      uint64_t flags = 0) noexcept {
  constexpr uint64_t kCountMask = (uint64_t{1} << (kRingShift - kCountShift)) - 1;
  return (uint64_t{ring} + 1) << kRingShift | (count & kCountMask) << kCountShift | flags |
         static_cast<uint64_t>(type);
}
[[nodiscard]] inline Type type_of(uint64_t id) noexcept {
  return static_cast<Type>(id & kTypeBits);
}
[[nodiscard]] inline uint64_t id_of(const void* handle) noexcept {
  return reinterpret_cast<uintptr_t>(handle);
}
[[nodiscard]] inline void* handle_of(uint64_t id) noexcept {
  return reinterpret_cast<void*>(static_cast<uintptr_t>(id));
}
// The parent's id if it has that type, else 0.
[[nodiscard]] inline uint64_t parent_of(const void* handle, Type type) noexcept {
  const uint64_t id = id_of(handle);
  return id != 0 && type_of(id) == type ? id : 0;
}

}  // namespace dprof::inject::nccl
