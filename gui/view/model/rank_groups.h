// SPDX-License-Identifier: Apache-2.0
// How the ranks of a run are divided: by host and rack, and by who communicates with whom, as
// tensor, pipeline and data parallelism do. Where these divisions cross each other evenly, the
// ranks stand in a grid.
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
  kGroup,  // a communicator whose name says nothing
  kHost,
  kDevice,  // of a host
};
// For people: "tensor", "stage", and what ranks that differ only in it are: "tensor group",
// "pipeline".
[[nodiscard]] std::string_view title_of(RankRole role);
[[nodiscard]] std::string_view line_title_of(RankRole role);

// A direction of the grid. Ranks that differ only in it are a line: as a rule a communicator.
struct GridAxis {
  RankRole role{};
  size_t size = 0;                 // ranks of a line
  std::vector<size_t> at;          // by rank: its place in its line, from 0
  std::vector<size_t> line;        // by rank: which line it stands in, from 0
  std::vector<std::string> names;  // of the lines: "tensor_3", or "tensor group 3"
  bool communicates = true;        // else what the other directions leave
};

// Each rank is in one group.
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
// members: only collectives of which all members were recorded count. A pipeline is a chain of
// ranks that exchange messages in both directions; its stages are numbered by rank.
// O(members log members).
[[nodiscard]] RankGroups rank_groups_of(std::span<const int> ranks,
                                        std::span<const std::string> hosts,
                                        std::span<const analyzer::MatchedCollective> collectives,
                                        std::span<const analyzer::MatchedMessage> messages);

// "r12" of "r12n03.cluster": what stands before the host's own number and ends in a number; "" =
// no such.
[[nodiscard]] std::string rack_of(std::string_view host);

}  // namespace dprof::view
