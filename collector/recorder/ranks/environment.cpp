// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/ranks/environment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "collector/recorder/common/clock.h"
#include "collector/wire/hello.h"

namespace dprof::recorder {

namespace {

// A sanitizer's runtime refuses to start a program in which it is not the first library.
bool is_sanitizer(std::string_view library) {
  const std::string_view name = library.substr(library.rfind('/') + 1);
  for (const std::string_view begin :
       {"libasan.", "libtsan.", "liblsan.", "libubsan.", "libhwasan.", "libclang_rt."}) {
    if (name.starts_with(begin)) return true;
  }
  return false;
}

std::string preload_of(std::string_view before, const std::string& library) {
  size_t end_of_sanitizers = 0;
  for (size_t begin = 0; begin < before.size();) {
    const size_t end = std::min(before.find_first_of(": ", begin), before.size());
    if (end != begin && !is_sanitizer(before.substr(begin, end - begin))) break;
    begin = end_of_sanitizers = std::min(end + 1, before.size());
  }
  std::string all(before.substr(0, end_of_sanitizers));
  if (!all.empty() && all.back() != ':' && all.back() != ' ') all += ':';
  all += library;
  const std::string_view rest = before.substr(end_of_sanitizers);
  return rest.empty() ? all : fmt::format("{}:{}", all, rest);
}

}  // namespace

Environment Environment::current() {
  Environment environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    environment.variables_.try_emplace(std::string(text.substr(0, equals)),
                                       text.substr(equals + 1));
  }
  return environment;
}

std::string Environment::get(const std::string& name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? std::string() : found->second;
}

std::vector<std::string> Environment::entries() const {
  std::vector<std::string> entries;
  for (const auto& [name, value] : variables_) entries.push_back(fmt::format("{}={}", name, value));
  return entries;
}

Replaced add_collector(Environment& environment, const CollectorSettings& settings) {
  environment.set(wire::kSocketVariable, settings.socket.string());
  environment.set(wire::kClockVariable, clock_variable(settings.scale));
  environment.set(wire::kDetailVariable, settings.detail);
  const bool off = settings.cuda == "off";
  environment.set(wire::kCudaVariable, settings.nsight_compute && !off ? "yield" : settings.cuda);
  environment.set(wire::kPythonVariable, settings.python);
  if (!settings.stacks.empty()) environment.set(wire::kStacksVariable, settings.stacks);
  if (settings.library.empty()) return {};
  const std::string library = settings.library.string();
  environment.set("LD_PRELOAD", preload_of(environment.get("LD_PRELOAD"), library));
  const auto replace = [&](const char* name, bool yields) {
    std::string before = environment.get(name);
    if (before == library || (yields && !before.empty())) return std::string();
    environment.set(name, library);
    return before;
  };
  Replaced replaced;
  replaced.nvtx = replace("NVTX_INJECTION64_PATH", settings.yield_nvtx);
  replaced.nccl = replace("NCCL_PROFILER_PLUGIN", settings.yield_nccl);
  // With yield dprof then looks for CUDA itself.
  if (!off && !settings.nsight_compute) {
    replaced.cuda = replace("CUDA_INJECTION64_PATH", settings.cuda == "yield");
  }
  return replaced;
}

bool meets_nsight_compute(const Environment& environment, const std::string& program) {
  const std::string name = program.substr(program.rfind('/') + 1);
  return name == "ncu" || name == "nv-nsight-cu-cli" ||
         !environment.get("NV_COMPUTE_PROFILER_PERFWORKS_DIR").empty();
}

void add_rank(Environment& environment, int rank, int ranks, int port) {
  environment.set("MASTER_ADDR", "127.0.0.1");
  environment.set("MASTER_PORT", std::to_string(port));
  environment.set("RANK", std::to_string(rank));
  environment.set("LOCAL_RANK", std::to_string(rank));
  environment.set("WORLD_SIZE", std::to_string(ranks));
  environment.set("LOCAL_WORLD_SIZE", std::to_string(ranks));
  environment.set_default("OMP_NUM_THREADS", "1");
}

}  // namespace dprof::recorder
