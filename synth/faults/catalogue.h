// SPDX-License-Identifier: Apache-2.0
// Every fault, hang, loss and awkward kind of healthy run that can be generated, with the expected
// findings. One table: `dprof-synth --list` prints it, the plan executes it, the truth quotes it.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace dprof::synth {

enum class Family : uint8_t { kFault, kHang, kLoss, kMemory, kHealthy };

struct FaultKind {
  std::string_view name;
  Family family;
  std::string_view sentence;
  std::string_view cause = {};  // the report's word; empty: no culprit must be named
  double ms = 0;                // defaults
  double factor = 1;
  std::string_view parameters = {};
  bool gpu_only = false;
};

[[nodiscard]] std::span<const FaultKind> catalogue();
[[nodiscard]] const FaultKind* find_fault(std::string_view name);

}  // namespace dprof::synth
