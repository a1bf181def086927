// SPDX-License-Identifier: Apache-2.0
// The recording session of this process: found or refused once, at the first event, for good. A
// process without a recorder has no thread, no descriptor and no hook of ours.
//
//   Unknown ─ first event ─▶ Starting ─▶ Active ─ recorder gone, fork child ─▶ Disabled
//                                  └──── no recorder ────────────────────────▶ Disabled
//
// Threading  start_session() by any door; one wins, the others return at once and record nothing
//            until it is done. Hooks read the hot page instead.
#pragma once

#include <atomic>

#include "collector/inject/clock.h"
#include "collector/inject/connection.h"
#include "collector/inject/hot_page.h"
#include "collector/wire/layout.h"
#include "collector/wire/ticks.h"

namespace dprof::inject {

enum class SessionState : uint32_t { kUnknown, kStarting, kActive, kDisabled };

inline constexpr uint32_t kMaxPath = 4096;

// The one object of the injected library. Zero until the session starts; everything but `state` is
// written before it becomes Active, or by the helper.
struct Runtime {
  std::atomic<SessionState> state;
  wire::Mapping mapping;
  wire::TickScale scale;
  Connection connection;
  int memory_descriptor;  // kept until the hello is sent, else -1
  bool hello_sent;
  std::atomic<bool> helper_may_run;
  uint32_t default_mask;  // from the environment
  wire::DetailLevel default_detail;
  uint64_t first_event_ticks;
  char socket_path[108];
  char own_folder[kMaxPath];  // folder of this library; "" = not known
};
extern Runtime runtime;

[[nodiscard]] inline uint64_t ticks() noexcept { return wire::read_ticks(runtime.scale.source); }

// A door was opened: starts the session if there is a recorder. True if hooks are to be installed
// (there is a session, or one is about to start). Never waits for another thread. Keeps errno.
bool start_session() noexcept;

// Sends the hello, once. False if the recorder is gone.
bool send_hello() noexcept;

// Switches everything off for the rest of the process. Written records stay for the recorder.
void disable_session() noexcept;

// Sets the mask that hooks test.
void set_mask(uint32_t bits) noexcept;

// The mask for a detail level, with all sources.
[[nodiscard]] uint32_t mask_of(wire::DetailLevel detail) noexcept;

void set_fact(wire::Fact fact, const char* text) noexcept;
void add_remark(wire::Remark remark) noexcept;

// Notes an uncaught exception, in the format of wire::Fact::kException. No effect in a fork child.
// Keeps errno.
void note_exception(const char* text) noexcept;

}  // namespace dprof::inject
