// SPDX-License-Identifier: Apache-2.0
// Start times on the device of work that the host launched, and the order of what a rank did, in
// bounded memory: used to find steps, and where they begin on the device.
#pragma once

#include <cstdint>
#include <vector>

#include "base/interval.h"

namespace dprof::analyzer {

// From `launch` on, until the next one's, the first work that was launched began at `start`.
struct Launch {
  TraceNs launch;
  TraceNs start;
};

// Gathers launches in any order of call. Above kMost entries neighbours are joined, so that a
// device window can then begin earlier by up to one entry's stretch of launches.
//
// Memory  16 bytes per entry.
class LaunchGatherer {
 public:
  static constexpr size_t kMost = size_t{1} << 20;

  void add(TraceNs launch, TraceNs start);
  [[nodiscard]] std::vector<Launch> take();  // by launch

 private:
  void join_neighbours();

  std::vector<Launch> launches_;
};

// One thing that a rank did: an outermost operator, a kernel, the launch of a graph.
struct HostToken {
  int64_t name = 0;  // equal names have equal numbers within a rank
  TraceNs at;
};

// Keeps what was done in its order. Above kMost entries the most frequent names are left out, all
// of their entries, and from then on: what repeats goes on repeating without them.
//
// Memory  16 bytes per entry.
class TokenGatherer {
 public:
  static constexpr size_t kMost = size_t{1} << 17;

  void add(int64_t name, TraceNs at);
  [[nodiscard]] std::vector<HostToken> take();  // by time

 private:
  void leave_out_frequent_ones();

  std::vector<HostToken> tokens_;
  std::vector<int64_t> left_out_;  // names, ascending
};

}  // namespace dprof::analyzer
