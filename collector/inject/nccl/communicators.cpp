// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/nccl/communicators.h"

#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "collector/inject/core_table.h"
#include "collector/inject/environment.h"
#include "collector/inject/nccl/nccl_abi.h"
#include "collector/inject/nccl/nccl_options.h"
#include "collector/inject/nccl/nccl_version.h"
#include "collector/inject/nccl/sequence.h"
#include "collector/inject/session.h"
#include "collector/wire/nccl_records.h"

namespace dprof::inject::nccl {
namespace {

constexpr uint32_t kUsualMask = event_type::kGroupApi | event_type::kCollApi | event_type::kP2pApi |
                                event_type::kKernelLaunch | event_type::kColl | event_type::kP2p;
static_assert(kUsualMask == 0xf06);
// While recording is off, sends and receives are still counted: the counts must stay equal on all
// ranks, which do not pause at the same moment.
constexpr uint32_t kPausedMask = event_type::kP2p;

// Contexts are slots of the table, from 1; beyond it: no recorder, and no slot was free.
constexpr uintptr_t kNobody = kMaxCommunicators + 1;
constexpr uintptr_t kNoPlace = kMaxCommunicators + 2;

constinit pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
constinit Communicator communicators[kMaxCommunicators] = {};
constinit Communicator nobody = {};  // never changes
constinit std::atomic<int*> mask_word = nullptr;

// Under the lock.
struct State {
  uint64_t made = 0;
  uint32_t alive = 0;
  uint32_t next_place = 0;
  uint32_t option_mask = 0;
  bool settled = false;  // the options are known
  bool missed = false;   // a communicator came before the session had begun
};
constinit State state;

class Guard {
 public:
  Guard() noexcept { pthread_mutex_lock(&lock); }
  ~Guard() { pthread_mutex_unlock(&lock); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
};

// NCCL reads the word from other threads.
void store_mask(uint32_t mask) noexcept {
  int* word = mask_word.load(std::memory_order_acquire);
  if (word != nullptr) __atomic_store_n(word, static_cast<int>(mask), __ATOMIC_RELAXED);
}

uint32_t mask_now(bool recording) noexcept {
  return recording ? kUsualMask | state.option_mask : kPausedMask;
}

// The free slot that was used longest ago: late events of a closed communicator must not be taken
// for those of a new one.
Communicator* take_place(uintptr_t& context) noexcept {
  for (uint32_t tried = 0; tried < kMaxCommunicators; ++tried) {
    const uint32_t place = (state.next_place + tried) % kMaxCommunicators;
    if (communicators[place].alive) continue;
    state.next_place = place + 1;
    context = place + 1;
    return &communicators[place];
  }
  context = kNoPlace;
  return nullptr;
}

// How many communicators of that hash this process made before, as far as the table remembers.
uint64_t ordinal_of(uint64_t hash) noexcept {
  uint64_t ordinal = 0;
  for (const Communicator& one : communicators) {
    if (one.hash.load(std::memory_order_relaxed) != hash || one.number == 0) continue;
    if (one.ordinal >= ordinal) ordinal = one.ordinal + 1;
  }
  return ordinal;
}

void identify(Communicator& communicator, uint64_t hash, const char* name) noexcept {
  communicator.ordinal = hash != 0 ? ordinal_of(hash) : 0;
  snprintf(communicator.name, sizeof communicator.name, "%s", name != nullptr ? name : "");
  communicator.hash.store(hash, std::memory_order_release);
}

// Writes a communicator's record, once its hash is known and there is a session.
void announce(Communicator& communicator) noexcept {
  const uint64_t hash = communicator.hash.load(std::memory_order_relaxed);
  if (communicator.announced || hash == 0 || !session_alive()) return;
  communicator.announced = true;
  wire::NcclCommunicator body{};
  body.hash = hash;
  body.ordinal = communicator.ordinal;
  body.ranks = communicator.ranks;
  body.rank = communicator.rank;
  body.nodes = communicator.nodes;
  body.plugin_version = communicator.plugin_version;
  body.device = ~0u;
  wire::Record record{};
  record.kind = wire::Kind::kNcclCommunicator;
  record.slots = 1;
  wire::set_body(record, body);
  core_table().define(communicator.name[0] != '\0' ? communicator.name : nullptr, &record);
}

// Another thread may be starting the session right now. Creating a communicator takes far longer
// than that, and the helper announces what is missed here. Holds no lock; gives up after 200 ms.
void wait_for_start() noexcept {
  const timespec pause{0, 1'000'000};
  for (int i = 0;
       i < 200 && runtime.state.load(std::memory_order_acquire) == SessionState::kStarting; ++i) {
    nanosleep(&pause, nullptr);
  }
}

// At the first communicator: which events this NCCL can be asked for.
void settle(int version) noexcept {
  state.settled = true;
  const Options options = options_for(noted_variable(kEventsVariable), version);
  state.option_mask = options.mask;
  set_fact(wire::Fact::kNcclSource, options.source);
  if (options.refused) add_remark(wire::Remark::kNcclEventsRefused);
  if (version == kNotKnown) return;
  char text[kVersionBytes];
  version_text(version, text);
  set_fact(wire::Fact::kNcclVersion, text);
}

}  // namespace

void* open(const CommunicatorInfo& info, int* mask) noexcept {
  const bool possible = start_session();
  if (possible) wait_for_start();
  if (!possible || runtime.state.load(std::memory_order_acquire) == SessionState::kDisabled) {
    if (mask != nullptr) __atomic_store_n(mask, 0, __ATOMIC_RELAXED);
    return reinterpret_cast<void*>(kNobody);
  }
  const int version = version_of(info.caller);
  const Guard guard;
  uintptr_t context = kNoPlace;
  if (Communicator* communicator = take_place(context)) {
    communicator->number.store(++state.made, std::memory_order_relaxed);
    communicator->uncounted.store(false, std::memory_order_relaxed);
    communicator->ranks = info.ranks;
    communicator->rank = info.rank;
    communicator->nodes = info.nodes;
    communicator->plugin_version = info.plugin_version;
    communicator->alive = true;
    communicator->announced = false;
    communicator->hash.store(0, std::memory_order_relaxed);  // of the slot's previous owner
    identify(*communicator, info.hash, info.name);
    announce(*communicator);
  }
  ++state.alive;
  if (!session_alive()) {
    state.missed = true;
  } else if (!state.settled) {
    settle(version);
  }
  if (mask != nullptr) {
    mask_word.store(mask, std::memory_order_release);
    store_mask(mask_now((hot_mask() & kMaskNccl) != 0));
  }
  return reinterpret_cast<void*>(context);
}

void close(void* context) noexcept {
  const auto place = reinterpret_cast<uintptr_t>(context);
  if (place == 0 || place == kNobody || place > kNoPlace || !session_alive()) return;
  const Guard guard;
  if (place <= kMaxCommunicators) {
    Communicator& communicator = communicators[place - 1];
    if (!communicator.alive) return;
    communicator.alive = false;
    forget_sequences(communicator.number.load(std::memory_order_relaxed));
  }
  if (state.alive > 0 && --state.alive == 0) {
    // NCCL now closes the plugin, and may be unloaded itself.
    store_mask(0);
    mask_word.store(nullptr, std::memory_order_release);
  }
}

Communicator& communicator_of(void* context) noexcept {
  const uintptr_t place = reinterpret_cast<uintptr_t>(context) - 1;
  return place < kMaxCommunicators ? communicators[place] : nobody;
}

void learn(Communicator& communicator, uint64_t hash, const char* name, int32_t rank) noexcept {
  if (&communicator == &nobody || !session_alive()) return;
  const Guard guard;
  if (communicator.hash.load(std::memory_order_relaxed) != 0) return;
  communicator.rank = rank;
  identify(communicator, hash, name);
  announce(communicator);
}

void switch_to(bool recording) noexcept {
  const Guard guard;
  store_mask(mask_now(recording));
}

void silence() noexcept { store_mask(0); }

void announce_missed() noexcept {
  const Guard guard;
  if (!state.missed) return;
  state.missed = false;
  if (!state.settled) settle(version_of(nullptr));
  for (Communicator& communicator : communicators) {
    if (communicator.alive) announce(communicator);
  }
}

void set_source_unless_used(const char* why) noexcept {
  const Guard guard;
  if (state.made == 0) set_fact(wire::Fact::kNcclSource, why);
}

}  // namespace dprof::inject::nccl
