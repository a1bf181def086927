// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/ranks/environment.h"

#include <unistd.h>

#include <string_view>

#include "collector/recorder/common/clock.h"
#include "collector/wire/hello.h"

namespace dprof::recorder {

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
  for (const auto& [name, value] : variables_) entries.push_back(name + "=" + value);
  return entries;
}

Replaced add_collector(Environment& environment, const CollectorSettings& settings) {
  environment.set(wire::kSocketVariable, settings.socket.string());
  environment.set(wire::kClockVariable, clock_variable(settings.scale));
  environment.set(wire::kDetailVariable, settings.detail);
  environment.set(wire::kCudaVariable, settings.cuda);
  if (settings.library.empty()) return {};
  const std::string library = settings.library.string();
  const std::string preloaded = environment.get("LD_PRELOAD");
  environment.set("LD_PRELOAD", preloaded.empty() ? library : library + ":" + preloaded);
  const auto replace = [&](const char* name) {
    const std::string before = environment.get(name);
    environment.set(name, library);
    return before == library ? std::string() : before;
  };
  Replaced replaced;
  replaced.nvtx = replace("NVTX_INJECTION64_PATH");
  replaced.nccl = replace("NCCL_PROFILER_PLUGIN");
  // With yield another tool's library stays: dprof then looks for CUDA by itself.
  const bool left = settings.cuda == "yield" && !environment.get("CUDA_INJECTION64_PATH").empty();
  if (settings.cuda != "off" && !left) replaced.cuda = replace("CUDA_INJECTION64_PATH");
  return replaced;
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
