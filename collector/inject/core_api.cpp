// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/core_api.h"

#include <cstring>

#include "collector/inject/core_table.h"
#include "collector/inject/hello_text.h"
#include "collector/inject/threads.h"

namespace dprof::inject {
namespace {

// HOT PATH, on training threads. Budget: p50 <= 60 ns (bench/ring_write.cpp) with a known name.
void begin_range(const char* name, uint64_t id, wire::Record* record) noexcept {
  ThreadState* thread = current_thread();
  if (thread == nullptr) return;
  const HookTimer timer(*thread);
  record->string = thread->texts.id_of(runtime.mapping, name);
  record->ticks = ticks();
  if (thread->writer.push(*record)) thread->torch_open.push(id, true);
}

// HOT PATH, on training threads. Budget: p50 <= 40 ns. Ends a begun range even while the source is
// off; but not in the child of a raw fork, whose thread state still names its parent's ring.
void end_range(uint64_t id, uint8_t category) noexcept {
  ThreadState* thread = session_alive() ? thread_state : nullptr;
  if (thread == nullptr) return;
  const HookTimer timer(*thread);
  if (!thread->torch_open.pop(id)) return;
  wire::Record record{};
  record.kind = wire::Kind::kRangeEnd;
  record.slots = 1;
  record.range_end = {};
  record.range_end.category = category;
  record.ticks = ticks();
  thread->writer.push(record, wire::Room::kNestedEnd);
}

bool write(const char* name, wire::Record* record, bool is_end) noexcept {
  ThreadState* thread = current_thread();
  if (thread == nullptr) return false;
  const HookTimer timer(*thread);
  record->string = thread->texts.id_of(runtime.mapping, name);
  record->ticks = ticks();
  return thread->writer.push(*record, is_end ? wire::Room::kNamedEnd : wire::Room::kOther);
}

// Programs that make themselves a rank (mp.spawn) set the variables after the hello was sent.
void note_rank_variables() noexcept {
  char buffer[wire::kMaxTextBytes];
  HelloText text(buffer, sizeof buffer);
  text.add_rank_variables();
  if (text.bytes() == 0) return;
  for (uint32_t i = 0; i < text.bytes(); ++i) {
    if (buffer[i] == '\0') buffer[i] = '\n';
  }
  runtime.mapping.header()->facts[static_cast<uint32_t>(wire::Fact::kRankVariables)].store(
      intern(runtime.mapping, buffer, text.bytes()), std::memory_order_release);
}

void define(const char* name, wire::Record* record) noexcept {
  if (!session_alive()) return;
  note_rank_variables();
  write(name, record, false);
}

uint64_t now() noexcept { return ticks(); }

constinit CoreApi table = {kCoreApiVersion, sizeof(CoreApi), &hot_page.mask, &begin_range,
                           &end_range,      &write,          &define,        &now,
                           &set_fact,       &note_exception};

}  // namespace

const CoreApi& core_table() noexcept { return table; }

}  // namespace dprof::inject
