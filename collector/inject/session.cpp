// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/session.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "collector/inject/c_library.h"
#include "collector/inject/environment.h"
#include "collector/inject/fork.h"
#include "collector/inject/hello_text.h"
#include "collector/inject/helper.h"
#include "collector/inject/memory.h"
#include "collector/inject/python_stacks.h"
#include "collector/inject/shutdown.h"
#include "collector/inject/strings.h"
#include "collector/inject/threads.h"
#include "collector/wire/hello.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

namespace dprof::inject {

constinit HotPage hot_page = {};
constinit Runtime runtime = {};

namespace {

struct Problem {
  int error = 0;
  const char* what = "";
};

// Used until the recorder requests something else. "armed-full": nothing yet, full when recording
// begins.
wire::DetailLevel detail_of_environment(bool& armed) noexcept {
  const char* word = noted_variable(wire::kDetailVariable);
  if (word == nullptr) return wire::DetailLevel::kStandard;
  constexpr size_t kPrefixLength = sizeof wire::kArmedPrefix - 1;
  armed = strncmp(word, wire::kArmedPrefix, kPrefixLength) == 0;
  if (armed) word += kPrefixLength;
  if (strcmp(word, "light") == 0) return wire::DetailLevel::kLight;
  return strcmp(word, "full") == 0 ? wire::DetailLevel::kFull : wire::DetailLevel::kStandard;
}

// The folder of this library, found now because the program can change its directory later.
void note_own_folder() noexcept {
  Dl_info info{};
  static char resolved[kMaxPath];  // PATH_MAX is what realpath needs
  if (dladdr(reinterpret_cast<void*>(&start_session), &info) == 0 || info.dli_fname == nullptr ||
      realpath(info.dli_fname, resolved) == nullptr) {
    return;
  }
  const char* slash = strrchr(resolved, '/');
  if (slash == nullptr) return;
  memcpy(runtime.own_folder, resolved, static_cast<size_t>(slash - resolved));
}

void fill_header() noexcept {
  wire::Header& header = *runtime.mapping.header();
  header.magic = wire::kMagic;
  header.wire_version = wire::kWireVersion;
  header.max_rings = wire::kMaxRings;
  header.ring_slots = wire::kRingSlots;
  header.arena_bytes = wire::kArenaBytes;
  header.total_bytes = wire::kTotalBytes;
  header.scale = runtime.scale;
  wire::arena_start(runtime.mapping);
  wire::ControlPage& control = *runtime.mapping.control();
  control.state.store(static_cast<uint32_t>(
      runtime.default_mask != 0 ? wire::CaptureState::kRecording : wire::CaptureState::kArmed));
  control.detail.store(static_cast<uint32_t>(runtime.default_detail));
  control.sources.store(~0u);
}

// Prepares everything except the connection. Leaves nothing behind on failure.
Problem prepare() noexcept {
  const SharedMemory memory = create_shared_memory();
  if (memory.error != 0) return {memory.error, memory.what};
  runtime.mapping = memory.mapping;
  runtime.memory_descriptor = memory.descriptor;
  fill_header();
  Problem problem;
  if (madvise(&hot_page, sizeof hot_page, MADV_WIPEONFORK) != 0) {
    problem = {errno, "MADV_WIPEONFORK"};
  } else if (!prepare_threads()) {
    problem = {EAGAIN, "pthread_key_create"};
  } else if (!watch_forks()) {
    problem = {ENOMEM, "pthread_atfork"};
  } else if (const int error = start_helper(); error != 0) {
    problem = {error, "pthread_create"};
  } else {
    watch_exit();
    return {};
  }
  munmap(runtime.mapping.base, wire::kTotalBytes);
  close(runtime.memory_descriptor);
  runtime.mapping = {};
  runtime.memory_descriptor = -1;
  return problem;
}

// The hello packet: written when the session starts, because the helper may have to send it.
struct HelloPacket {
  alignas(wire::Hello) char bytes[wire::kHelloBytes];
  uint32_t length;
};
constinit HelloPacket hello_packet = {};

// `problem`: why the process has no shared memory, for the report.
void write_hello(const Problem& problem) noexcept {
  HelloText text(hello_packet.bytes + sizeof(wire::Hello),
                 sizeof hello_packet.bytes - sizeof(wire::Hello));
  if (problem.error != 0) text.add_error(problem.what);
  text.add_rank_variables();
  text.add_command_line();
  const wire::Hello hello{wire::kMagic,  wire::kWireVersion, getpid(),
                          problem.error, text.bytes(),       runtime.first_event_ticks};
  memcpy(hello_packet.bytes, &hello, sizeof hello);
  hello_packet.length = static_cast<uint32_t>(sizeof hello) + hello.text_bytes;
}

// True once the session is set up.
bool start(const char* path) noexcept {
  const Connection::Connect connect = runtime.connection.connect(path);
  if (connect == Connection::Connect::kRefused) return false;
  strncpy(runtime.socket_path, path, sizeof runtime.socket_path - 1);
  runtime.scale = tick_scale_of(noted_variable(wire::kClockVariable));
  runtime.first_event_ticks = ticks();
  bool armed = false;
  runtime.default_detail = detail_of_environment(armed);
  runtime.default_mask = armed ? 0 : mask_of(runtime.default_detail);
  note_own_folder();
  let_the_recorder_look();
  const Problem problem = prepare();
  write_hello(problem);
  if (problem.error != 0) {
    if (connect == Connection::Connect::kDone)
      runtime.connection.send_hello(hello_packet.bytes, hello_packet.length, -1);
    runtime.connection.close();
    return false;
  }
  if (connect == Connection::Connect::kDone && !send_hello()) return false;
  hot_page.pid.store(getpid(), std::memory_order_relaxed);
  hot_page.alive.store(1, std::memory_order_release);
  set_mask(runtime.default_mask);
  return true;
}

}  // namespace

bool start_session() noexcept {
  SessionState state = runtime.state.load(std::memory_order_acquire);
  if (state == SessionState::kActive) return hot_page.pid.load(std::memory_order_relaxed) != 0;
  if (state != SessionState::kUnknown) return state == SessionState::kStarting;
  if (!runtime.state.compare_exchange_strong(state, SessionState::kStarting,
                                             std::memory_order_acq_rel)) {
    return state != SessionState::kDisabled;
  }
  const int kept = errno;
  note_environment();
  const char* path = noted_variable(wire::kSocketVariable);
  const bool active = path != nullptr && is_glibc() && start(path);
  if (!active) disable_session();
  if (active) runtime.state.store(SessionState::kActive, std::memory_order_release);
  runtime.helper_may_run.store(true, std::memory_order_release);
  errno = kept;
  return active;
}

bool send_hello() noexcept {
  const bool sent = runtime.connection.send_hello(hello_packet.bytes, hello_packet.length,
                                                  runtime.memory_descriptor);
  close(runtime.memory_descriptor);
  runtime.memory_descriptor = -1;
  runtime.hello_sent = sent;
  return sent;
}

void disable_session() noexcept {
  runtime.state.store(SessionState::kDisabled, std::memory_order_release);
  hot_page.mask.store(0, std::memory_order_relaxed);
  hot_page.alive.store(0, std::memory_order_relaxed);
}

void set_mask(uint32_t bits) noexcept {
  const uint32_t before = hot_mask();
  const uint32_t changed = (before ^ bits) & kMaskNvtx;
  const uint32_t epoch = (before >> kMaskEpochShift) + (changed != 0 ? 1 : 0);
  hot_page.mask.store((epoch << kMaskEpochShift) | bits, std::memory_order_release);
}

uint32_t mask_of(wire::DetailLevel detail) noexcept {
  uint32_t bits = kMaskSources;
  if (detail >= wire::DetailLevel::kStandard) bits |= kMaskStandard;
  if (detail >= wire::DetailLevel::kFull) bits |= kMaskFull;
  return bits;
}

void set_fact(wire::Fact fact, const char* text) noexcept {
  const uint32_t id = intern(runtime.mapping, text, strlen(text));
  runtime.mapping.header()->facts[static_cast<uint32_t>(fact)].store(id, std::memory_order_release);
}

void add_remark(wire::Remark remark) noexcept {
  runtime.mapping.header()->remarks[static_cast<uint32_t>(remark)].fetch_add(
      1, std::memory_order_relaxed);
}

void note_exception(const char* text) noexcept {
  // The word is wiped in a fork child; a vfork child has another pid.
  if (hot_page.pid.load(std::memory_order_relaxed) != getpid()) return;
  const int kept = errno;
  set_fact(wire::Fact::kException, text);
  errno = kept;
}

}  // namespace dprof::inject
