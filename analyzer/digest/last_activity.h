// SPDX-License-Identifier: Apache-2.0
// What a rank was at when its trace ended, for hangs: where it stood, and what it had last
// finished.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dprof::analyzer {

// A range of the training thread. Times are how long ago, seen from the last sign of the rank, so
// that they are the same on every time axis.
struct LastRange {
  std::string name;
  int64_t begun_ago_ns = 0;
  std::optional<int64_t> ended_ago_ns;  // nullopt = still open
};

struct LastActivity {
  static constexpr size_t kOpenRanges = 8;

  std::vector<LastRange> open;            // innermost first; the innermost kOpenRanges of them
  std::optional<LastRange> last;          // the one that ended last
  std::optional<int64_t> loading_for_ns;  // waits for a batch since then
};

}  // namespace dprof::analyzer
