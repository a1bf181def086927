// SPDX-License-Identifier: Apache-2.0
// A change to a run, as written by the user: "rank:3=peers", "bandwidth*2".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dprof::analyzer {

enum class Subject : uint8_t {
  kRank,        // rank:3=peers, rank:3*0.8
  kHost,        // host:node-2=peers, host:node-2*0.8
  kStragglers,  // stragglers=none
  kInput,       // input=0, input*0.5
  kTransfer,    // transfer*0.5
  kBandwidth,   // bandwidth*2
  kLatency,     // latency=0
  kBucketCap,   // bucket_cap=50MB
  kOverlap,     // overlap=full
  kSync,        // sync=none
  kLaunch,      // launch=graphs
  kGc,          // gc=together, gc=0
  kCheckpoint,  // checkpoint=0
  kKernel,      // kernel:NAME*0.7
  kPhase,       // phase:forward*0.9
  kOp,          // op:aten::mm*0.5
  kAccumulate,  // accumulate=4
  kWorld,       // world=2x
  kHostWork,    // host-work=0
};
inline constexpr size_t kSubjects = 19;

struct Change {
  Subject subject{};
  std::string text;    // as written
  std::string name;    // of a host, phase, kernel or operator
  int rank = 0;        // of kRank
  bool peers = false;  // kRank, kHost: take the times of their peers
  bool word = false;   // given as a word: none, full, graphs, together
  double factor = 1;   // times the duration, the speed or the number
  int64_t bytes = 0;   // of kBucketCap
};

// A usage error explains the problem and lists the grammar. Does not check whether names exist.
[[nodiscard]] Result<Change> parse_change(std::string_view text);

// An example of each, separated by ", ".
[[nodiscard]] std::string change_examples();

}  // namespace dprof::analyzer
