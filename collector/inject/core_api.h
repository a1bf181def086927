// SPDX-License-Identifier: Apache-2.0
// What libdprof.so lends to libdprof_torch.so: a table of C functions, so that neither links the
// other. Both come from one build; `version` guards against a stray old file.
//
// Threading  every function may be called by any thread, within a RecordFunction callback.
// Cost       one indirect call; budgets in docs/hot_path.md.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "collector/wire/layout.h"

namespace dprof::inject {

inline constexpr uint32_t kCoreApiVersion = 5;

struct CoreApi {
  uint32_t version;
  uint32_t bytes;                     // of this struct
  const std::atomic<uint32_t>* mask;  // HotPage::mask

  // Writes a nesting range's begin. `id` names it to end_range. Sets name, ticks and key.
  void (*begin_range)(const char* name, uint64_t id, wire::Record* record);
  // Writes the end of the range `id`, if its begin was written by this thread.
  void (*end_range)(uint64_t id, uint8_t category);
  // Writes a record of any other kind, with its ticks; false when it was dropped. `name` may be
  // null. Only an end, which has a key, may take the room that is kept for ends.
  bool (*write)(const char* name, wire::Record* record, bool is_end);
  // A record that must not be lost to a paused source (communicators): written while there is a
  // session. Also looks again at the rank variables.
  void (*define)(const char* name, wire::Record* record);
  // The clock that records are stamped with.
  uint64_t (*ticks)();
  void (*set_fact)(wire::Fact fact, const char* text);
  void (*note_exception)(const char* text);  // session.h
};

// Of libdprof_torch.so. Registers the callbacks for `detail` (wire::DetailLevel) and returns 0, or
// a number that says what failed. Called again when the detail level changes, and each 100 ms for
// what has to wait until the program has set it up. `known`: this very build of LibTorch was
// measured (wire::kTorchBuilds), not only probed. `layout`: of 2.N; 0 = of the release that is
// there.
inline constexpr char kTorchEntry[] = "dprof_torch_start";
using TorchEntry = int (*)(const CoreApi* core, uint32_t detail, uint32_t known, uint32_t layout);

// Of it, too, for a child process of the recorder's that has mapped a LibTorch: 0 if it can be
// read, else 1 and a sentence that names what differs. It may crash or hang; the sentence then
// names what it was at.
inline constexpr char kTorchProbe[] = "dprof_torch_probe";
using TorchProbe = int (*)(char* sentence, size_t bytes, uint32_t layout);

}  // namespace dprof::inject
