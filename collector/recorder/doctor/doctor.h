// SPDX-License-Identifier: Apache-2.0
// What can be recorded on this machine, what cannot, and why: `dprof doctor`.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace dprof::recorder {

enum class Ability { kOk, kLimited, kNo };

// One thing that was looked at.
struct Check {
  std::string area;  // "Recording", "PyTorch", "GPU", …
  std::string name;
  Ability state = Ability::kOk;
  std::string found;
  std::string meaning;  // for a recording; "" where all is well
  std::string hint;     // what to do; "" where nothing can be done
};

// Something that a recording may hold.
struct Recordable {
  std::string what;
  bool can = false;
  std::string why_not;
};

struct Diagnosis {
  std::string host;
  std::string dprof_version;
  std::vector<Check> checks;  // in order of area
  std::vector<Recordable> recordable;
};

struct DoctorOptions {
  std::filesystem::path program;    // dprof itself
  std::filesystem::path libraries;  // folder of libdprof.so and libdprof_torch.so
  std::filesystem::path folder;     // where runs would go
  bool sanitized = false;           // this build cannot be preloaded
};

// Looks at everything; takes a second or two. Whatever belongs to others is loaded in child
// processes, so that it can neither end nor hang this one. Leaves nothing behind.
//
// Threading  call it while there is one thread.
Result<Diagnosis> examine(const DoctorOptions& options);

// The child of the self-test: one NVTX range, as a program that uses NVTX makes it. False when no
// tool took it.
[[nodiscard]] bool emit_range();

// The answer of `dprof doctor --probe-torch LIBRARY TORCH_CPU` (torch_verdict.h): a child of this
// process maps both and asks the library's own probe. One that crashes or hangs is one that
// differs.
//
// Threading  call it while there is one thread.
[[nodiscard]] std::string probe_torch(const std::filesystem::path& library,
                                      const std::filesystem::path& torch_cpu,
                                      std::chrono::seconds patience = std::chrono::seconds(20));

}  // namespace dprof::recorder
