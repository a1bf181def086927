// SPDX-License-Identifier: Apache-2.0
// The table of C functions that libdprof.so passes to libdprof_torch.so, so that neither links the
// other. Both come from one build; `version` guards against a stale file.
//
// Threading  any thread can call every function, within a RecordFunction callback.
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

  // Writes the start of a nesting range. `id` identifies it for end_range. Sets name, ticks and
  // key.
  void (*begin_range)(const char* name, uint64_t id, wire::Record* record);
  // Writes the end of the range `id`, if this thread wrote its begin.
  void (*end_range)(uint64_t id, uint8_t category);
  // Writes a record of any other kind, with its ticks; false if it was dropped. `name` can be null.
  // Only an end, which has a key, can use the slots reserved for ends.
  bool (*write)(const char* name, wire::Record* record, bool is_end);
  // Writes a record that a paused source must not lose (communicators), as long as there is a
  // session. Also re-reads the rank variables.
  void (*define)(const char* name, wire::Record* record);
  // The clock of the records.
  uint64_t (*ticks)();
  void (*set_fact)(wire::Fact fact, const char* text);
  void (*note_exception)(const char* text);  // session.h
};

// Exported by libdprof_torch.so. Registers the callbacks for `detail` (wire::DetailLevel) and
// returns 0, or a number for what failed. Called again when the detail level changes, and each 100
// ms for parts of torch that the program sets up later. `known`: exactly this build of LibTorch was
// measured (wire::kTorchBuilds), not only probed. `layout`: of 2.N; 0 = of the mapped release.
inline constexpr char kTorchEntry[] = "dprof_torch_start";
using TorchEntry = int (*)(const CoreApi* core, uint32_t detail, uint32_t known, uint32_t layout);

// Also exported by libdprof_torch.so, for a child process of the recorder that has mapped a
// LibTorch: 0 if that LibTorch can be read, else 1 and a sentence that names the difference. It can
// crash or hang; the sentence then names the check in progress.
inline constexpr char kTorchProbe[] = "dprof_torch_probe";
using TorchProbe = int (*)(char* sentence, size_t bytes, uint32_t layout);

}  // namespace dprof::inject
