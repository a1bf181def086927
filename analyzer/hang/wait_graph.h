// SPDX-License-Identifier: Apache-2.0
// The graph of waits over all communicators: a rank waits in its unfinished calls, and a call waits
// for the members that have not reached it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyzer/hang/progress.h"

namespace dprof::analyzer {

// One collective or message in which a rank is stuck.
struct StuckCall {
  std::optional<size_t> instance;
  std::optional<size_t> message;
  std::vector<size_t> inside;      // digests that are in it
  std::vector<size_t> not_called;  // digests
  std::vector<size_t> queued;      // digests
  std::vector<int> no_data;        // ranks without a trace
  std::vector<size_t> done;        // digests that have finished it
};

struct WaitGraph {
  std::vector<StuckCall> calls;               // by first call
  std::vector<std::vector<size_t>> stuck_in;  // [digest]: the calls it is in
  // The ends of all waits, each sorted by digest: ranks that others wait for (or that alone have
  // not finished what others have), and that wait for no other. Several in one: they wait for each
  // other in a circle.
  std::vector<std::vector<size_t>> sinks;
};

// O(members of the collectives with stuck ranks).
[[nodiscard]] WaitGraph wait_graph_of(const CollectiveProgress& progress, const Matching& matching);

}  // namespace dprof::analyzer
