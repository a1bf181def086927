// SPDX-License-Identifier: Apache-2.0
// The timeline's rows and their positions: first the pinned ones, then host, rank, thread. The
// track list and the canvas share it, so they line up.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "gui/view/model/model.h"

namespace dprof::view {

enum class RowKind : uint8_t { kGroup, kHost, kRank, kThread, kMemory };  // kGroup: a heading only

struct Row {
  RowKind kind = RowKind::kHost;
  int y = 0;
  int height = 0;
  int rank_index = -1;    // into Model::ranks
  int thread_index = -1;  // of RankModel::row_lanes
  int depths = 0;         // of a thread
  int memory_index = -1;  // into RankModel::memory
  bool folded = false;
  std::string track;  // selector: "rank:5/thread:main"
  std::string label;
  std::string note;
  bool problem = false;  // the note names a culprit
  bool pinned = false;   // a copy, above all others
  bool fixed = false;    // does not scroll with the others
};

// The user's arrangement of the tracks. Tracks are named by their selectors, so an arrangement also
// fits the next run.
struct Arrangement {
  std::set<std::string> folded_hosts;
  std::set<int> unfolded_ranks;
  std::string filter;               // shows the ranks whose host, number or threads match
  std::vector<std::string> pinned;  // patterns (names.h) of tracks, on top in this order
  std::set<std::string> hidden;     // tracks not shown, except if pinned
  std::vector<int> order;           // these ranks come first within their hosts
  friend bool operator==(const Arrangement&, const Arrangement&) = default;
};

struct Layout {
  std::vector<Row> rows;
  int height = 0;
  int fixed_height = 0;  // of the rows that stay in view, the first ones

  // Keeps the pinned rows in view, as many whole ones as fit into `most` pixels; the heading says
  // so if some do not fit.
  void fix_pinned(int most);
  // Row at a height; nullptr below the last one. O(log rows).
  [[nodiscard]] const Row* at(int y) const;
  // Never a pinned row.
  [[nodiscard]] const Row* of_rank(int rank_index) const;
};

inline constexpr int kRowHeight = 25;   // hosts and ranks
inline constexpr int kBarHeight = 19;   // of a rank's summary
inline constexpr int kBarTop = 3;       // in its row
inline constexpr int kDepthPitch = 17;  // of a thread's nesting depths
inline constexpr int kDepthHeight = 16;
inline constexpr int kThreadPadding = 4;  // above the first and below the last depth
inline constexpr int kMemoryHeight = 34;

[[nodiscard]] Layout make_layout(const Model& model, const Arrangement& arrangement);

[[nodiscard]] std::string track_of(int rank, const MemoryTrack& memory);

// The selector of a thread or stream: "rank:5/thread:main", "rank:5/thread:gloo_worker_2",
// "rank:5/stream:7", "rank:5/device:1/stream:7", "rank:5/sql:long_kernels".
[[nodiscard]] std::string track_of(int rank, const analyzer::ThreadLanes& thread);

// True if a track pattern matches this one: `rank:*` only ranks, `rank:*/stream:7` only streams.
[[nodiscard]] bool track_matches(std::string_view pattern, std::string_view track);

}  // namespace dprof::view
