// SPDX-License-Identifier: Apache-2.0
// The data of the page Matrix: one figure per pair of ranks, of one communicator or of all.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gui/view/drawing/texts.h"
#include "gui/view/model/model.h"

namespace dprof::view {

enum class PairMeasure : uint8_t { kWait, kBytes, kTransfer, kBandwidth, kMessages };

struct PairMeasureInfo {
  std::string_view title;
  std::string_view about;
  std::string_view verb;  // between two ranks: "rank 3 waited for rank 5"
};
inline constexpr std::array<PairMeasureInfo, 5> kPairMeasures = {{
    {english("Waits"), english("how long a rank (row) waited for another (column)"),
     english("waited for")},
    {english("Bytes"), english("sent in messages from a rank (row) to another (column)"),
     english("sent to")},
    {english("Transfer time"), english("of messages, from the moment both sides had arrived"),
     english("sent to")},
    {english("Bandwidth"), english("of messages, while they were transferred"), english("sent to")},
    {english("Messages"), english("from a rank (row) to another (column)"), english("sent to")},
}};
[[nodiscard]] constexpr const PairMeasureInfo& info_of(PairMeasure measure) {
  return kPairMeasures[static_cast<size_t>(measure)];
}

struct PairChoice {
  PairMeasure measure = PairMeasure::kWait;
  std::string communicator;  // "" = all; "data_*" = all of that family
  friend bool operator==(const PairChoice&, const PairChoice&) = default;
};

struct PairCell {
  analyzer::RankPair pair;
  double value = 0;   // ns, bytes, bytes/s or messages
  int64_t count = 0;  // waits or messages
};

// Ranks that waited for the same rank; for a culprit, many do.
struct PairFlow {
  int peer = 0;             // who was waited for
  size_t ranks = 0;         // that waited
  double value = 0;         // ns, in total
  int64_t count = 0;        // waits
  analyzer::RankPair most;  // the pair that waited longest

  [[nodiscard]] double each() const { return value / static_cast<double>(ranks); }
};

struct PairMap {
  std::vector<int> ranks;       // rows and columns; also ranks without a trace
  std::vector<PairCell> cells;  // only those with a value, highest first
  int64_t not_compared = 0;     // collectives whose last rank is unknown
  int64_t unknown_peer = 0;     // messages with an unknown rank
  int64_t without_figure = 0;   // messages without this figure

  [[nodiscard]] std::optional<size_t> index_of(int rank) const;
};

// The waits of a map by awaited rank, the most expensive first; O(pairs log pairs).
[[nodiscard]] std::vector<PairFlow> flows_of(const PairMap& map);

// O(pairs log pairs).
[[nodiscard]] PairMap pair_map(const Model& model, const PairChoice& choice);

// The row behind a cell: the collective or message with the largest share in it.
struct PairExample {
  std::optional<uint32_t> collective;  // position in Model::collectives
  std::optional<uint32_t> message;     // position in Model::messages
};
[[nodiscard]] PairExample example_of(const Model& model, const PairChoice& choice,
                                     analyzer::RankPair pair);

}  // namespace dprof::view
