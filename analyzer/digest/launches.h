// SPDX-License-Identifier: Apache-2.0
// Device start times of work that the host launched, and the order of a rank's work, in bounded
// memory: used to find steps and their begin on the device.
#pragma once

#include <cstdint>
#include <vector>

#include "base/interval.h"

namespace dprof::analyzer {

// The first work launched between `launch` and the next entry's began at `start`.
struct Launch {
  TraceNs launch;
  TraceNs start;
};

// Gathers launches in any order of call. Above kMost entries neighbours are merged; a device window
// can then begin earlier by up to one entry's stretch of launches.
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

// One item of a rank's work: an outermost operator, a kernel, the launch of a graph.
struct HostToken {
  int64_t name = 0;  // equal names have equal numbers within a rank
  TraceNs at;
};

// Keeps the order of a rank's work. Above kMost entries the most frequent names are left out from
// then on, with all their entries: a repeating pattern repeats without them too.
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
