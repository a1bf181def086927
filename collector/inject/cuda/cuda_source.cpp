// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/cuda/cuda_source.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "collector/inject/cuda/cuda_capture.h"
#include "collector/inject/cuda/cuda_clients.h"
#include "collector/inject/environment.h"
#include "collector/inject/session.h"
#include "collector/inject/shutdown.h"
#include "collector/wire/hello.h"
#include "collector/wire/ticks.h"

namespace dprof::inject {
namespace {

constexpr uint64_t kLookEveryNs = 1'000'000'000;
constexpr uint64_t kAttachNs = 500'000'000;    // limit of the session's end on an attach
constexpr uint64_t kFinishNs = 1'400'000'000;  // both within the time that the process waits

enum class Mode : uint8_t { kCupti, kYield, kOff };

//   kIdle ─ cuInit ─▶ kAttaching ─▶ kOn ─ yield, recording off ─▶ kIdle
//                         │           └─ the session ends ─▶ kStopped
//                         └─▶ kRefused, for good; with yield: kIdle, tried again
enum class State : uint32_t { kIdle, kAttaching, kOn, kRefused, kStopped };

constinit std::atomic<State> state = State::kIdle;
constinit std::atomic<bool> cuda_in_use = false;  // cuInit was called
constinit std::atomic<bool> finish_is_registered = false;

// Owned by the helper.
struct Wanted {
  uint32_t mask;
  wire::DetailLevel detail;
  uint64_t next_look_ns;
  uint32_t hangs;  // of the recorder's hang count, handled so far
  bool said;       // reported: another client is in the way, or CUDA is off
};
constinit Wanted wanted = {};

Mode mode_of(const char* word) noexcept {
  if (word == nullptr) return Mode::kCupti;
  if (strcmp(word, "off") == 0) return Mode::kOff;
  return strcmp(word, "yield") == 0 ? Mode::kYield : Mode::kCupti;
}

Mode mode() noexcept { return mode_of(noted_variable(wire::kCudaVariable)); }

void note_versions() noexcept {
  char text[64];
  snprintf(text, sizeof text, "API %u, %s", cuda_capture.library().version, cuda_capture.backend());
  set_fact(wire::Fact::kCuptiVersion, text);
  if (const int version = driver_version(); version > 0) {
    snprintf(text, sizeof text, "%d.%d", version / 1000, version % 1000 / 10);
    set_fact(wire::Fact::kCudaDriver, text);
  }
}

void say(Attached result, const char* why) noexcept {
  set_fact(wire::Fact::kCuptiSource, why);
  switch (result) {
    case Attached::kMissing:
      return add_remark(wire::Remark::kCuptiMissing);
    case Attached::kTaken:
      return add_remark(wire::Remark::kCuptiTaken);
    case Attached::kRefused:
      return add_remark(wire::Remark::kCuptiRefused);
    case Attached::kDone:
      return;
  }
}

// True for the one thread that is to end the running capture.
bool take_over() noexcept {
  State on = State::kOn;
  return state.compare_exchange_strong(on, State::kStopped, std::memory_order_acq_rel);
}

// Attaches, unless another thread is attaching or the session is ending. On the thread that called
// cuInit, or on the helper.
void attach(Mode how, const CudaCapture::Start& start, bool& said) noexcept {
  State idle = State::kIdle;
  if (phase() != Phase::kServing) return;
  if (!state.compare_exchange_strong(idle, State::kAttaching, std::memory_order_acq_rel)) return;
  char why[640];
  char other[128];
  Attached result = Attached::kTaken;
  if (how == Mode::kYield && find_other_client(other, sizeof other)) {
    snprintf(why, sizeof why, "off: left to %s (--cuda=yield)", other);
  } else {
    result = cuda_capture.attach(start, why, sizeof why);
  }
  if (result == Attached::kDone) {
    // After CUPTI has registered its own handler, so that ours runs before it; and before anybody
    // can see that it is on, so that a process that ends then is not too early.
    if (!finish_is_registered.exchange(true)) atexit(&finish_session);
    note_versions();
    set_fact(wire::Fact::kCuptiSource, "on");
    state.store(State::kOn, std::memory_order_release);
    if (phase() == Phase::kOver && take_over()) cuda_capture.leave();  // it ended meanwhile
    return;
  }
  if (!said) say(result, why);
  said = true;
  const bool again = how == Mode::kYield && result == Attached::kTaken;
  state.store(again ? State::kIdle : State::kRefused, std::memory_order_release);
}

void release() noexcept {
  cuda_capture.detach();
  set_fact(wire::Fact::kCuptiSource, "off: given back while nothing is recorded (--cuda=yield)");
  state.store(State::kIdle, std::memory_order_release);
}

void apply(uint32_t mask, wire::DetailLevel detail) noexcept {
  wanted.mask = mask;
  wanted.detail = detail;
  const Mode how = mode();
  if (how == Mode::kOff) {
    if (!wanted.said) set_fact(wire::Fact::kCuptiSource, "off: --cuda=off");
    wanted.said = true;
    return;
  }
  if (state.load(std::memory_order_acquire) != State::kOn) return;
  if (how == Mode::kYield && (mask & kMaskCuda) == 0) return release();
  cuda_capture.want(mask, detail);
}

// Kernels may be running, and enabling their record kind may crash CUPTI: only yield takes the
// risk.
void refuse_late() noexcept {
  State idle = State::kIdle;
  if (!state.compare_exchange_strong(idle, State::kRefused, std::memory_order_acq_rel)) return;
  say(Attached::kRefused, "off: CUDA was in use before dprof could attach to it");
}

// For a driver that was initialised before we were loaded, or whose variable names another tool.
void look_for_cuda(uint64_t now_ns) noexcept {
  const Mode how = mode();
  if (how == Mode::kOff || now_ns < wanted.next_look_ns) return;
  if (how == Mode::kYield && (wanted.mask & kMaskCuda) == 0) return;
  wanted.next_look_ns = now_ns + kLookEveryNs;
  if (!cuda_in_use.load(std::memory_order_acquire) && !driver_is_initialized()) return;
  const bool first = !a_device_is_in_use();
  if (!first && how != Mode::kYield) return refuse_late();
  attach(how, {.mask = wanted.mask, .detail = wanted.detail, .first = first}, wanted.said);
}

// CUPTI holds back a buffer while one of its records is unfinished, such as the kernel of a
// collective that no other rank joins: a process killed there would leave no kernel of its last
// seconds. The unfinished record is delivered without its end.
void answer_hang() noexcept {
  const uint32_t hangs = runtime.mapping.control()->hangs.load(std::memory_order_acquire);
  if (hangs == wanted.hangs) return;
  wanted.hangs = hangs;
  cuda_capture.flush_unfinished();
}

uint64_t serve(uint64_t now_ns) noexcept {
  const State now = state.load(std::memory_order_acquire);
  if (now == State::kIdle) look_for_cuda(now_ns);
  if (now == State::kOn) {
    cuda_capture.want(wanted.mask, wanted.detail);
    cuda_capture.flush_when_due(now_ns);
    answer_hang();
  }
  return kNoHurry;
}

uint64_t drain() noexcept {
  return state.load(std::memory_order_acquire) == State::kOn ? cuda_capture.drain() : kNoHurry;
}

// A thread still attaching when the session ends, and too slow to wait for, undoes its attach
// itself.
void wait_for_attach() noexcept {
  const timespec pause{0, 1'000'000};
  const uint64_t until = wire::monotonic_ns() + kAttachNs;
  while (state.load(std::memory_order_acquire) == State::kAttaching && wire::monotonic_ns() < until)
    nanosleep(&pause, nullptr);
}

// While CUDA is alive: collects what CUPTI still holds.
void finish() noexcept {
  wait_for_attach();
  if (take_over()) cuda_capture.finish(kFinishNs);
}

void stop() noexcept {
  wait_for_attach();
  if (take_over()) cuda_capture.leave();
}

}  // namespace

constinit const SourceHooks kCudaHooks = {&apply, &serve, &drain, &finish, &stop};

int on_cuda_start() noexcept {
  const int kept = errno;
  const Mode how = mode_of(getenv(wire::kCudaVariable));
  if (how == Mode::kOff || getenv(wire::kSocketVariable) == nullptr || !start_session()) return 1;
  const bool first = !cuda_in_use.exchange(true, std::memory_order_acq_rel);
  // With yield the helper attaches when recording is on; it also does so if the session is about to
  // start on another thread.
  if (first && how == Mode::kCupti && session_alive()) {
    bool said = false;
    attach(how, {.mask = hot_mask(), .detail = runtime.default_detail, .first = true}, said);
  }
  errno = kept;
  return 1;
}

void push_external(uint64_t id) noexcept { cuda_capture.push_external(id); }
void pop_external() noexcept { cuda_capture.pop_external(); }

}  // namespace dprof::inject
