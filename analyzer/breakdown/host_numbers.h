// SPDX-License-Identifier: Apache-2.0
// Numbers the hosts, and says on which one each rank ran.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "analyzer/run/run.h"

namespace dprof::analyzer {

// Where a host has no name, its clock stands for it.
class HostNumbers {
 public:
  explicit HostNumbers(std::span<const TraceFile> traces);

  [[nodiscard]] size_t count() const { return names_.size(); }
  [[nodiscard]] const std::string& name(int host) const {
    return names_[static_cast<size_t>(host)];
  }
  [[nodiscard]] bool know(std::span<const int> ranks) const;
  // Of those ranks that are known. Sorted.
  [[nodiscard]] std::vector<int> of(std::span<const int> ranks) const;
  [[nodiscard]] std::vector<int> ranks_on(int host) const;

 private:
  std::vector<std::string> names_;
  std::map<int, int> of_rank_;
};

}  // namespace dprof::analyzer
