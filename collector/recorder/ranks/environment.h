// SPDX-License-Identifier: Apache-2.0
// The environment through which a command finds the recorder.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "collector/wire/layout.h"

namespace dprof::recorder {

// Invariant  names are unique.
class Environment {
 public:
  // This process's own.
  static Environment current();

  void set(const std::string& name, std::string value) { variables_[name] = std::move(value); }
  void set_default(const std::string& name, const std::string& value) {
    variables_.try_emplace(name, value);
  }
  [[nodiscard]] std::string get(const std::string& name) const;  // "" = not set

  // "NAME=value" strings, in the form for exec.
  [[nodiscard]] std::vector<std::string> entries() const;

 private:
  std::map<std::string, std::string> variables_;
};

struct CollectorSettings {
  std::filesystem::path library;  // libdprof.so; empty = preload nothing
  std::filesystem::path socket;
  wire::TickScale scale{};
  std::string detail;
  std::string cuda = "cupti";  // cupti, yield, off
  std::string python;          // wire::kPythonVariable
  std::string stacks;          // wire::kStacksVariable; "" = no stacks
  // Leave what another tool has already set.
  bool yield_nvtx = false;
  bool yield_nccl = false;
  // Nsight Compute aborts a program with CUDA_INJECTION64_PATH: it is not set, and CUDA is left to
  // it.
  bool nsight_compute = false;
};

// Other tools' settings that dprof replaced; "" = none.
struct Replaced {
  std::string nvtx;  // NVTX_INJECTION64_PATH
  std::string nccl;  // NCCL_PROFILER_PLUGIN
  std::string cuda;  // CUDA_INJECTION64_PATH
};

// Adds the collector: LD_PRELOAD (before existing entries, except a sanitizer's runtime, which must
// be first), the injection paths of NVTX, NCCL and CUDA, and the DPROF_* variables.
Replaced add_collector(Environment& environment, const CollectorSettings& settings);

// The command runs within Nsight Compute, or starts it.
[[nodiscard]] bool meets_nsight_compute(const Environment& environment, const std::string& program);

// Adds the rendezvous variables of one rank of `ranks`, all on this host.
void add_rank(Environment& environment, int rank, int ranks, int port);

}  // namespace dprof::recorder
