// SPDX-License-Identifier: Apache-2.0
// The sections of a report: what each says, empty where there is nothing to say. What was not
// computed is left out or said to be unknown, never shown as 0. Text, Markdown and the GUI say the
// same by what stands here.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyzer/render/document.h"
#include "analyzer/render/text.h"

namespace dprof::analyzer {

inline constexpr size_t kMostRanks = 16;      // that a table lists
inline constexpr double kLeastShare = 0.001;  // of a step, that is shown by itself

using SectionMaker = Document(const Report& report, const TextOptions& options);

SectionMaker head_section;  // what was recorded, on what clock, how well
SectionMaker hang_section;
SectionMaker output_section;  // what a rank said before it failed
SectionMaker step_section;    // where a mean step goes
SectionMaker finding_section;

// In the order of Section.
SectionMaker rank_section;
SectionMaker phase_section;  // where the breakdown does not say it all
// Leaks and failed allocations; where it was asked for also peaks, what lay there at the largest,
// fragmentation, and what dividing or recomputing would free.
SectionMaker memory_section;
SectionMaker gpu_rows_section;
SectionMaker energy_section;
SectionMaker overlap_section;
SectionMaker collective_section;
SectionMaker bucket_section;
SectionMaker link_section;  // slow groups; what a transfer costs by its size where it was asked for
SectionMaker point_to_point_section;
SectionMaker replay_section;         // the slowdown; the rest where it was asked for
SectionMaker what_if_section;        // the answers
SectionMaker critical_path_section;  // what decides how long steps take
SectionMaker clock_section;
SectionMaker unknown_section;

// Something is wrong with memory, with links, with clocks.
[[nodiscard]] bool has_memory_trouble(const Report& report);
[[nodiscard]] bool has_slow_links(const Report& report);
[[nodiscard]] bool has_clock_trouble(const Report& report);
[[nodiscard]] bool has_slowdown(const Report& report);
[[nodiscard]] bool has_question(const Report& report);  // somebody asked what if

// How many of them are shown; and the line that says how many are not.
[[nodiscard]] size_t shown_of(size_t all, int top);
void say_more(Document& document, size_t shown, size_t all);

// How that was decided, or where the trace ended before a reason was found.
[[nodiscard]] std::string hang_sentence(const Hang& hang);

// How much a healthy verdict is worth, a sentence each: what was not found, and what would not have
// been seen. Empty where ranks were not compared.
struct Verdicts {
  std::vector<std::string> good;    // "no rank holds the others up: …"
  std::vector<std::string> unseen;  // "an own delay below 0.4 ms per step …"
};
[[nodiscard]] Verdicts verdicts_of(const Report& report);
// Below a finding's title, `indent` from the left.
void add_detail(Document& document, const std::string& detail, const std::string& advice,
                size_t indent);

// Those that cost most in all come first. Groups that do the same for about as long are one entry,
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
// What is wrong, and what else there is to say: a sentence each.
[[nodiscard]] std::vector<std::string> memory_troubles(const Memory& memory);
[[nodiscard]] std::vector<std::string> memory_remarks(const Memory& memory);
// The one with the largest peak; of devices, if there are any. nullptr: no peak is known.
[[nodiscard]] const RankMemory* largest_peak(const Memory& memory);
// "step 12, backward"; "" = unknown.
[[nodiscard]] std::string peak_moment(const RankMemory& memory);

// "the recorded segments replayed unchanged come out 0.8 % off per step, over 118 steps"; ""
// without a replay.
[[nodiscard]] std::string identity_text(const Report& report);

}  // namespace dprof::analyzer
