// SPDX-License-Identifier: Apache-2.0
// Our own numbers for sends and receives, which NCCL does not count: per communicator, peer and
// direction, from 0. Both sides of a transfer get the same number, because NCCL matches them in
// that order too.
//
// Threading  lock-free; sends (or receives) to one peer of one communicator come one at a time, as
//            NCCL requires of its callers.
// Cost       about 5 ns: usually one probe.
#pragma once

#include <cstdint>

namespace dprof::inject::nccl {

inline constexpr uint32_t kMaxCounted = 16384;  // (communicator, peer, direction)

// HOT PATH, on training threads. Budget: 10 ns. wire::kNoSequence if there is no counter left, or
// the communicator is not known (0).
[[nodiscard]] uint64_t next_sequence(uint64_t communicator, int32_t peer, bool send) noexcept;

// The communicator is gone: frees its counters. Cold.
void forget_sequences(uint64_t communicator) noexcept;

}  // namespace dprof::inject::nccl
