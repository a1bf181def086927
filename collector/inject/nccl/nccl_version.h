// SPDX-License-Identifier: Apache-2.0
// The version of the NCCL in the process.
//
// Threading  any thread; takes the loader's lock.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dprof::inject::nccl {

inline constexpr int kNotKnown = 0;
inline constexpr int kFirstUsable = 22600;  // 2.26.0: plugin version 3

// From ncclGetVersion (22809 = 2.28.9), kNotKnown if it cannot be called. `address` is an address
// within the NCCL in question, which can be linked into another library; null: the process's
// libnccl.
[[nodiscard]] int version_of(const void* address) noexcept;

// "2.28.9"
inline constexpr size_t kVersionBytes = 40;
void version_text(int version, char (&text)[kVersionBytes]) noexcept;

}  // namespace dprof::inject::nccl
