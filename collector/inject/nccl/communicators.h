// SPDX-License-Identifier: Apache-2.0
// The communicators of the process, and the one word by which NCCL is switched on and off.
//
// NCCL asks for the mask once per communicator, but keeps one for the process; the address stays
// valid while there is a communicator. What is stored there decides which events NCCL makes at all.
//
// Threading  open() and close() by any thread; switch_to() and announce_missed() by the helper.
//            They share a lock, which no hook takes. communicator_of() is lock-free.
#pragma once

#include <atomic>
#include <cstdint>

namespace dprof::inject::nccl {

inline constexpr uint32_t kMaxCommunicators = 1024;  // alive at once; more are not known by hash

struct Communicator {
  std::atomic<uint64_t> hash;    // 0 = not known
  std::atomic<uint64_t> number;  // of this process, from 1; 0 = not known
  std::atomic<bool> uncounted;   // a peer found no room to be counted: from then on none is
  uint64_t ordinal;
  int32_t ranks, rank, nodes;
  uint32_t plugin_version;
  bool alive;
  bool announced;  // the trace has its record
  char name[48];
};

// What `init` of the tables hands over; `hash` 0 with plugin version 3, which tells it later.
struct CommunicatorInfo {
  uint64_t hash;
  const char* name;
  int32_t ranks, rank, nodes;
  uint32_t plugin_version;
  const void* caller;  // an address in the NCCL that asks
};

// A communicator was made. Starts the session if there is a recorder, and sets the mask: 0 without
// one. Returns what NCCL hands to each event and to close(): never null, because NCCL skips the end
// of a null one.
[[nodiscard]] void* open(const CommunicatorInfo& info, int* mask) noexcept;
void close(void* context) noexcept;

// Never fails: a context that makes no sense is a communicator that is not known.
[[nodiscard]] Communicator& communicator_of(void* context) noexcept;

// Plugin version 3 names the communicator in its events only. Cold: once per communicator.
void learn(Communicator& communicator, uint64_t hash, const char* name, int32_t rank) noexcept;

// Whether events are wanted. False leaves what keeps the counts of sends and receives right.
void switch_to(bool recording) noexcept;

// Stores 0: the session is over.
void silence() noexcept;

// Writes the records of communicators that were made before the session had begun.
void announce_missed() noexcept;

// Says why NCCL records nothing, unless a communicator was made.
void set_source_unless_used(const char* why) noexcept;

}  // namespace dprof::inject::nccl
