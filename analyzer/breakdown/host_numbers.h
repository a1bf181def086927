// SPDX-License-Identifier: Apache-2.0
// Numbers the hosts, and maps each rank to its host.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "analyzer/run/run.h"

namespace dprof::analyzer {

// A host without a name is identified by its clock.
class HostNumbers {
 public:
  explicit HostNumbers(std::span<const TraceFile> traces);

  [[nodiscard]] size_t count() const { return names_.size(); }
  [[nodiscard]] const std::string& name(int host) const {
    return names_[static_cast<size_t>(host)];
  }
  [[nodiscard]] bool know(std::span<const int> ranks) const;
  // The hosts of the known ranks among these, sorted.
  [[nodiscard]] std::vector<int> of(std::span<const int> ranks) const;
  [[nodiscard]] std::vector<int> ranks_on(int host) const;

 private:
  std::vector<std::string> names_;
  std::map<int, int> of_rank_;
};

}  // namespace dprof::analyzer
