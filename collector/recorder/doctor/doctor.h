// SPDX-License-Identifier: Apache-2.0
// `dprof doctor`: what can be recorded on this machine, what cannot, and why.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace dprof::recorder {

enum class Ability { kOk, kLimited, kNo };

// The result of one check.
struct Check {
  std::string area;  // "Recording", "PyTorch", "GPU", …
  std::string name;
  Ability state = Ability::kOk;
  std::string found;
  std::string meaning;  // consequence for a recording; "" if the check passed
  std::string hint;     // what to do; "" if there is no remedy
};

// Something that a recording can contain.
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

// Runs all checks; takes a second or two. Third-party libraries are loaded in child processes, so
// that they can neither end nor hang this one. Leaves nothing behind.
//
// Threading  call it while there is one thread.
Result<Diagnosis> examine(const DoctorOptions& options);

// The child of the self-test: makes one NVTX range as a program with NVTX does. False if no tool
// took it.
[[nodiscard]] bool emit_range();

// The answer of `dprof doctor --probe-torch LIBRARY TORCH_CPU` (torch_verdict.h): a child of this
// process maps both and runs the library's own probe. A crash or hang counts as a difference.
//
// Threading  call it while there is one thread.
[[nodiscard]] std::string probe_torch(const std::filesystem::path& library,
                                      const std::filesystem::path& torch_cpu,
                                      std::chrono::seconds patience = std::chrono::seconds(20));

}  // namespace dprof::recorder
