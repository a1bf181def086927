// SPDX-License-Identifier: Apache-2.0
// The division of a run's ranks: by host and rack, and by who communicates with whom (tensor,
// pipeline and data parallelism). Where these divisions cross evenly, the ranks form a grid.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/breakdown/matched.h"

namespace dprof::view {

enum class RankRole : uint8_t {
  kPipeline,
  kTensor,
  kContext,
  kData,
  kExpert,
  kGroup,  // a communicator with an uninformative name
  kHost,
  kDevice,  // of a host
};
// For people: "tensor", "stage", and the name of ranks that differ only in it: "tensor group",
// "pipeline".
[[nodiscard]] std::string_view title_of(RankRole role);
[[nodiscard]] std::string_view line_title_of(RankRole role);

// An axis of the grid. Ranks that differ only in it form a line: usually a communicator.
struct GridAxis {
  RankRole role{};
  size_t size = 0;                 // ranks per line
  std::vector<size_t> at;          // by rank: its position in its line, from 0
  std::vector<size_t> line;        // by rank: the number of its line, from 0
  std::vector<std::string> names;  // of the lines: "tensor_3", or "tensor group 3"
  bool communicates = true;        // false: what the other axes leave
};

// Each rank is in exactly one group.
struct RankDivision {
  std::string title;               // "host", "rack", "stage", "data group"
  std::vector<std::string> names;  // of the groups
  std::vector<size_t> group;       // by rank
};

struct RankGroups {
  std::vector<GridAxis> axes;           // neighbouring ranks first; empty = no grid
  std::vector<RankDivision> divisions;  // host and rack first
};

// `ranks` ascending, `hosts` by rank; results are by position in these. Groups are known from their
// members: only collectives with all members recorded count. A pipeline is a chain of ranks that
// exchange messages in both directions; its stages are numbered by rank. O(members log members).
[[nodiscard]] RankGroups rank_groups_of(std::span<const int> ranks,
                                        std::span<const std::string> hosts,
                                        std::span<const analyzer::MatchedCollective> collectives,
                                        std::span<const analyzer::MatchedMessage> messages);

// "r12" of "r12n03.cluster": the part before the host's own number, if it ends in a number; "" =
// none.
[[nodiscard]] std::string rack_of(std::string_view host);

}  // namespace dprof::view
