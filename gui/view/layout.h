// SPDX-License-Identifier: Apache-2.0
// Which rows there are and where: host, rank, thread. The track list and the canvas share it, so
// they line up.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "gui/view/model.h"

namespace dprof::view {

enum class RowKind : uint8_t { kHost, kRank, kThread };

struct Row {
  RowKind kind = RowKind::kHost;
  int y = 0;
  int height = 0;
  int rank_index = -1;    // into Model::ranks
  int thread_index = -1;  // into RankLanes::threads
  int depths = 0;         // of a thread
  bool folded = false;
  std::string track;  // selector: "rank:5/thread:main"
  std::string label;
  std::string note;
  bool problem = false;  // the note tells of a culprit
};

struct Folds {
  std::set<std::string> folded_hosts;
  std::set<int> unfolded_ranks;
  std::string filter;  // shows the ranks whose host, number or threads match
};

struct Layout {
  std::vector<Row> rows;
  int height = 0;

  // Row at a height; nullptr below the last one. O(log rows).
  [[nodiscard]] const Row* at(int y) const;
  [[nodiscard]] const Row* of_rank(int rank_index) const;
};

inline constexpr int kRowHeight = 25;   // hosts and ranks
inline constexpr int kBarHeight = 19;   // of a rank's summary
inline constexpr int kBarTop = 3;       // in its row
inline constexpr int kDepthPitch = 17;  // of a thread's nesting depths
inline constexpr int kDepthHeight = 16;
inline constexpr int kThreadPadding = 4;  // above the first and below the last depth

[[nodiscard]] Layout make_layout(const Model& model, const Folds& folds);

// The selector's word for a thread or stream: "thread:main", "thread:gloo_worker_2", "stream:7",
// "device:1/stream:7".
[[nodiscard]] std::string track_word(const analyzer::ThreadLanes& thread);

}  // namespace dprof::view
