// SPDX-License-Identifier: Apache-2.0
// Other participants in a job: tools, launchers.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "collector/recorder/common/text.h"
#include "collector/recorder/doctor/doctor_checks_internal.h"

namespace dprof::recorder {
namespace {

namespace fs = std::filesystem;

// Variables by which another tool has, or requests, what dprof needs.
struct OtherTool {
  const char* variable;
  const char* what;
};
constexpr OtherTool kOtherTools[] = {
    {"NVTX_INJECTION64_PATH", "NVTX ranges"},
    {"CUDA_INJECTION64_PATH", "CUPTI"},
    {"NCCL_PROFILER_PLUGIN", "NCCL's profiler"},
    {"KINETO_USE_DAEMON", "CUPTI, on demand"},
    {"NSYS_PROFILING_SESSION_ID", "CUPTI and NVTX (Nsight Systems)"},
    {"NV_NSIGHT_INJECTION_PORT_BASE", "CUPTI (Nsight Compute)"},
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? clean_text(value) : std::string();
}

}  // namespace

fs::path find_program(std::string_view search_path, std::string_view name) {
  while (!search_path.empty()) {
    const size_t colon = std::min(search_path.find(':'), search_path.size());
    const fs::path folder(search_path.substr(0, colon));
    search_path.remove_prefix(std::min(colon + 1, search_path.size()));
    const fs::path program = (folder.empty() ? fs::path(".") : folder) / name;
    std::error_code error;
    if (fs::is_regular_file(program, error) && access(program.c_str(), X_OK) == 0) return program;
  }
  return {};
}

Check check_other_tools() {
  Check check{kJobArea, "other tools", Ability::kOk, {}, {}, {}};
  std::string taken;
  for (const OtherTool& tool : kOtherTools) {
    const std::string value = variable(tool.variable);
    if (value.empty() || value == "0" || value == "none") continue;
    check.found += fmt::format("{}{}={}", check.found.empty() ? "" : ", ", tool.variable, value);
    taken += fmt::format("{}{}", taken.empty() ? "" : ", ", tool.what);
  }
  if (check.found.empty()) {
    const std::string preload = variable("LD_PRELOAD");
    check.found = preload.empty() ? "none in the way"
                                  : fmt::format("none in the way; LD_PRELOAD={} is kept", preload);
    return check;
  }
  check.state = Ability::kLimited;
  check.meaning = fmt::format(
      "only one tool can have each of: {}; dprof replaces the injection paths, and the trace says so",
      taken);
  check.hint = "unset what you do not need, or `--cuda=off` / `--cuda=yield`";
  return check;
}

Check check_launchers() {
  Check check{kJobArea, "launchers", Ability::kOk, "dprof record -n N", {}, {}};
  const std::string path = variable("PATH");
  for (const char* name : {"torchrun", "mpirun", "srun"}) {
    if (!find_program(path, name).empty()) check.found += fmt::format(", {}", name);
  }
  return check;
}

}  // namespace dprof::recorder
