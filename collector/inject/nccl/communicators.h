// SPDX-License-Identifier: Apache-2.0
// The communicators of the process, and the one word that switches NCCL's events on and off.
//
// NCCL asks for the mask once per communicator, but keeps one for the process; the address stays
// valid while there is a communicator. The mask decides which events NCCL creates at all.
//
// Threading  open() and close() by any thread; switch_to() and announce_missed() by the helper.
//            They share a lock, which no hook takes. communicator_of() is lock-free.
#pragma once

#include <atomic>
#include <cstdint>

namespace dprof::inject::nccl {

inline constexpr uint32_t kMaxCommunicators = 1024;  // alive at once; the hash of more is unknown

struct Communicator {
  std::atomic<uint64_t> hash;    // 0 = not known
  std::atomic<uint64_t> number;  // of this process, from 1; 0 = not known
  std::atomic<bool> uncounted;   // a peer had no counter left: from then on none is counted
  uint64_t ordinal;
  int32_t ranks, rank, nodes;
  uint32_t plugin_version;
  bool alive;
  bool announced;  // the trace has its record
  char name[48];
};

// Arguments of the tables' `init`; `hash` is 0 with plugin version 3, which supplies it later.
struct CommunicatorInfo {
  uint64_t hash;
  const char* name;
  int32_t ranks, rank, nodes;
  uint32_t plugin_version;
  const void* caller;  // an address in the calling NCCL
};

// A communicator was created. Starts the session if there is a recorder, and sets the mask: 0
// without one. Returns what NCCL passes to each event and to close(): never null, because NCCL
// skips the end of a null one.
[[nodiscard]] void* open(const CommunicatorInfo& info, int* mask) noexcept;
void close(void* context) noexcept;

// Never fails: an invalid context yields the unknown communicator.
[[nodiscard]] Communicator& communicator_of(void* context) noexcept;

// Plugin version 3 names the communicator in its events only. Cold: once per communicator.
void learn(Communicator& communicator, uint64_t hash, const char* name, int32_t rank) noexcept;

// Switches events on or off. False keeps only those that maintain the counts of sends and receives.
void switch_to(bool recording) noexcept;

// Stores 0: the session is over.
void silence() noexcept;

// Writes the records of communicators created before the session began.
void announce_missed() noexcept;

// Reports why NCCL records nothing, unless a communicator was created.
void set_source_unless_used(const char* why) noexcept;

}  // namespace dprof::inject::nccl
