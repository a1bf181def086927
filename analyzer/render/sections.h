// SPDX-License-Identifier: Apache-2.0
// The sections of a report; a section without content is empty. Values that were not computed are
// left out or shown as unknown, never as 0. Text, Markdown and the GUI share these sections.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyzer/render/document.h"
#include "analyzer/render/text.h"

namespace dprof::analyzer {

inline constexpr size_t kMostRanks = 16;      // that a table lists
inline constexpr double kLeastShare = 0.001;  // of a step: smallest part listed separately

using SectionMaker = Document(const Report& report, const TextOptions& options);

SectionMaker head_section;  // what was recorded, on which clock, how well
SectionMaker hang_section;
SectionMaker output_section;  // the last output of a rank before it failed
SectionMaker step_section;    // how a mean step is spent
SectionMaker finding_section;

// In the order of Section.
SectionMaker rank_section;
SectionMaker phase_section;  // where the breakdown does not cover it
// Leaks and failed allocations; on request also peaks, the contents of the largest one,
// fragmentation, and what dividing or recomputing would free.
SectionMaker memory_section;
SectionMaker gpu_rows_section;
SectionMaker energy_section;
SectionMaker overlap_section;
SectionMaker collective_section;
SectionMaker bucket_section;
SectionMaker link_section;  // slow groups; on request the cost of a transfer by its size
SectionMaker point_to_point_section;
SectionMaker replay_section;         // the slowdown; the rest on request
SectionMaker what_if_section;        // the answers
SectionMaker critical_path_section;  // what determines the length of the steps
SectionMaker clock_section;
SectionMaker unknown_section;

// Something is wrong with memory, with links, with clocks.
[[nodiscard]] bool has_memory_trouble(const Report& report);
[[nodiscard]] bool has_slow_links(const Report& report);
[[nodiscard]] bool has_clock_trouble(const Report& report);
[[nodiscard]] bool has_slowdown(const Report& report);
[[nodiscard]] bool has_question(const Report& report);  // the user asked what-if questions

// The number of those shown; and the line with the number of the others.
[[nodiscard]] size_t shown_of(size_t all, int top);
void say_more(Document& document, size_t shown, size_t all);

// Says how the cause of the hang was decided, or where the trace ended before one was found.
[[nodiscard]] std::string hang_sentence(const Hang& hang);

// The worth of a healthy verdict, a sentence each: what was not found, and what could not have
// been seen. Empty if ranks were not compared.
struct Verdicts {
  std::vector<std::string> good;    // "no rank holds the others up: …"
  std::vector<std::string> unseen;  // "an own delay below 0.4 ms per step …"
};
[[nodiscard]] Verdicts verdicts_of(const Report& report);
// Below a finding's title, `indent` from the left.
void add_detail(Document& document, const std::string& detail, const std::string& advice,
                size_t indent);

// The most expensive in total first. Groups that do the same for about as long share an entry,
// "tensor (4) and 31 alike".
[[nodiscard]] std::vector<CollectiveSummary> most_expensive_collectives(const Report& report);
struct CollectiveColumns {
  bool group = true;
  bool per_step = false;
  bool bandwidth = true;
  bool last_arriver = false;
};
[[nodiscard]] Table collective_table(std::span<const CollectiveSummary> collectives,
                                     const CollectiveColumns& columns);

// One line: the largest peak, where and when; "" = unknown.
[[nodiscard]] std::string memory_line(const Report& report);
// Problems and further remarks: a sentence each.
[[nodiscard]] std::vector<std::string> memory_troubles(const Memory& memory);
[[nodiscard]] std::vector<std::string> memory_remarks(const Memory& memory);
// The rank with the largest peak; on a device, if there are any. nullptr: no known peak.
[[nodiscard]] const RankMemory* largest_peak(const Memory& memory);
// "step 12, backward"; "" = unknown.
[[nodiscard]] std::string peak_moment(const RankMemory& memory);

// "the recorded segments replayed unchanged come out 0.8 % off per step, over 118 steps"; ""
// without a replay.
[[nodiscard]] std::string identity_text(const Report& report);

}  // namespace dprof::analyzer
