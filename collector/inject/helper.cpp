// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/helper.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <ctime>

#include "collector/inject/linker_use.h"
#include "collector/inject/session.h"
#include "collector/inject/shutdown.h"
#include "collector/inject/source.h"
#include "collector/inject/strings.h"
#include "collector/inject/threads.h"
#include "collector/wire/ticks.h"

namespace dprof::inject {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kSleepNs = 100 * kMs;
constexpr uint64_t kBusySleepNs = 10 * kMs;  // the recorder's backlog was full
constexpr uint64_t kBusyLimitNs = 1'000 * kMs;
constexpr uint64_t kArenaAheadBytes = 128 << 10;
constexpr size_t kStackBytes = 1 << 20;  // libdprof_torch's static constructors run on it

uint64_t shorter(uint64_t a, uint64_t b) noexcept { return a < b ? a : b; }

void pause_ns(uint64_t ns) noexcept {
  const timespec time{static_cast<time_t>(ns / 1'000'000'000u),
                      static_cast<long>(ns % 1'000'000'000u)};
  nanosleep(&time, nullptr);
}

// Sleeps until the recorder changes the control page, or for `ns`.
void wait_for_control(uint32_t generation_seen, uint64_t ns) noexcept {
  const timespec time{static_cast<time_t>(ns / 1'000'000'000u),
                      static_cast<long>(ns % 1'000'000'000u)};
  syscall(SYS_futex, &runtime.mapping.control()->generation, FUTEX_WAIT, generation_seen, &time,
          nullptr, 0);
}

// What is recorded, as last published to the trace. Owned by the helper.
constinit wire::Detail published = {};

// Writes to the trace what is recorded from now on, if that changed.
void publish(const wire::Detail& now) noexcept {
  if (published.state == now.state && published.detail == now.detail &&
      published.sources == now.sources)
    return;
  ThreadState* thread = current_thread();
  if (thread == nullptr) return;
  published = now;
  wire::Record record{};
  record.kind = wire::Kind::kDetail;
  record.slots = 1;
  record.ticks = ticks();
  record.detail = now;
  thread->writer.push(record);
}

// Converts the recorder's request into the mask. False if it says stop.
bool apply_control() noexcept {
  wire::ControlPage& control = *runtime.mapping.control();
  const uint32_t state = control.state.load(std::memory_order_relaxed);
  const uint32_t asked = control.detail.load(std::memory_order_relaxed);
  if (state == static_cast<uint32_t>(wire::CaptureState::kStop)) return false;
  const bool known = asked >= static_cast<uint32_t>(wire::DetailLevel::kLight) &&
                     asked <= static_cast<uint32_t>(wire::DetailLevel::kFull);
  const auto detail = known ? static_cast<wire::DetailLevel>(asked) : runtime.default_detail;
  const bool on = state == static_cast<uint32_t>(wire::CaptureState::kRecording);
  const uint32_t sources = control.sources.load(std::memory_order_relaxed);
  const uint32_t bits = mask_of(detail) & ((sources & kMaskSources) | ~kMaskSources);
  publish({.state = state,
           .detail = static_cast<uint32_t>(detail),
           .sources = sources & kMaskSources,
           .cause = control.cause.load(std::memory_order_relaxed)});
  set_mask(on ? bits : 0);
  // Work that costs time without being written (callbacks for each op) waits until it is wanted.
  const auto wanted = on ? detail : wire::DetailLevel::kLight;
  const LinkerUse sources_may_call_the_linker;
  for (const SourceHooks* source : all_sources()) source->apply(on ? bits : 0, wanted);
  return true;
}

// Sends the hello again to a recorder whose backlog was full. False if it stays full.
bool finish_connecting() noexcept {
  for (uint64_t waited = 0; !runtime.hello_sent; waited += kBusySleepNs) {
    const Connection::Connect connect = runtime.connection.connect(runtime.socket_path);
    if (connect == Connection::Connect::kDone) return send_hello();
    if (connect == Connection::Connect::kRefused || waited >= kBusyLimitNs) return false;
    pause_ns(kBusySleepNs);
  }
  return true;
}

void serve_recorder() noexcept {
  if (!finish_connecting()) return;
  // The state so far; the recorder may have requested another one meanwhile.
  const bool on = runtime.default_mask != 0;
  publish({.state = static_cast<uint32_t>(on ? wire::CaptureState::kRecording
                                             : wire::CaptureState::kArmed),
           .detail = static_cast<uint32_t>(runtime.default_detail),
           .sources = kMaskSources,
           .cause = static_cast<uint32_t>(wire::CaptureCause::kStart)});
  uint32_t applied = runtime.mapping.control()->generation.load(std::memory_order_acquire);
  bool go_on = apply_control();
  while (go_on && phase() == Phase::kServing) {
    keep_spare_rings();
    populate_arena(runtime.mapping, kArenaAheadBytes);
    uint64_t sleep_ns = kSleepNs;
    for (const SourceHooks* source : all_sources()) {
      {
        const LinkerUse may_call_the_linker;
        sleep_ns = shorter(sleep_ns, source->serve(wire::monotonic_ns()));
      }
      if (source->drain != nullptr) sleep_ns = shorter(sleep_ns, source->drain());
    }
    if (runtime.connection.peer() == Connection::Peer::kGone) return;
    wait_for_control(applied, sleep_ns);
    const uint32_t generation =
        runtime.mapping.control()->generation.load(std::memory_order_acquire);
    if (generation != applied) go_on = apply_control();
    applied = generation;
  }
}

// The recorder no longer reads: hooks return at once from now on, and costs outside our hooks
// (CUPTI's buffers, callbacks of torch) end too.
void stop_sources() noexcept {
  disable_session();
  const LinkerUse sources_may_call_the_linker;
  for (const SourceHooks* source : all_sources()) {
    source->apply(0, wire::DetailLevel::kLight);
    if (source->stop != nullptr) source->stop();
  }
}

// The process is ending, and its libraries are still loaded.
void finish_sources() noexcept {
  for (const SourceHooks* source : all_sources()) {
    const LinkerUse may_call_the_linker;
    if (source->finish != nullptr) source->finish();
  }
}

void* helper_main(void*) noexcept {
  pthread_setname_np(pthread_self(), "dprof");
  note_helper();
  while (!runtime.helper_may_run.load(std::memory_order_acquire)) pause_ns(kMs / 4);
  if (runtime.state.load(std::memory_order_acquire) == SessionState::kActive) {
    serve_recorder();
    const bool stops = begin_stopping();
    stops ? stop_sources() : finish_sources();
    declare_over();
    // Keep this thread's destructors from running beside those of the process.
    if (!stops) {
      for (;;) pause_ns(kSleepNs);
    }
    // The descriptor stays open: closing a number that the program may be reusing is worse than one
    // dead socket.
  }
  return nullptr;
}

}  // namespace

int start_helper() noexcept {
  pthread_attr_t attributes;
  if (const int error = pthread_attr_init(&attributes); error != 0) return error;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const int error = pthread_create(&thread, &attributes, &helper_main, nullptr);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return error;
}

}  // namespace dprof::inject
