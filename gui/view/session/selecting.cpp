// SPDX-License-Identifier: Apache-2.0
#include "gui/view/session/selecting.h"

#include <algorithm>

#include "gui/view/figures/collective_times.h"
#include "gui/view/session/landmarks.h"

namespace dprof::view {

void Selecting::show_steps_around(int64_t step) {
  const std::optional<size_t> index = model_->index_of_step(step);
  if (!index) return;
  const size_t first = *index == 0 ? 0 : *index - 1;
  const size_t last = std::min(*index + 1, model_->steps.size() - 1);
  viewport_.show(padded({model_->steps[first].window.begin, model_->steps[last].window.end}, 5));
}

void Selecting::choose_collective(int64_t step) {
  selection_.collective.reset();
  const std::optional<size_t> index = model_->index_of_step(step);
  if (!index) return;
  const Interval window = model_->steps[*index].window;
  if (selection_.finding) {
    for (const analyzer::Evidence& evidence : model_->findings()[*selection_.finding].evidence) {
      const RankModel* rank = model_->rank(evidence.rank);
      if (evidence.table != "collective" || evidence.rows.empty() || rank == nullptr) continue;
      const TraceNs at{evidence.start_ns};
      const auto member = rank->collective_of_row.find(evidence.rows.front());
      if (member == rank->collective_of_row.end() || at < window.begin || at >= window.end)
        continue;
      selection_.collective = member->second.collective;
      return;
    }
  }
  int64_t longest = 0;
  for (size_t i = 0; i < model_->collectives.size(); ++i) {
    const analyzer::MatchedCollective& collective = model_->collectives[i];
    if (!collective.last_arriver || !selection_.has_rank(*collective.last_arriver)) continue;
    const Interval extent = extent_of(collective);
    if (extent.end <= window.begin || extent.begin >= window.end) continue;
    const int64_t wait = longest_wait(collective);
    if (wait <= longest) continue;
    longest = wait;
    selection_.collective = i;
  }
}

void Selecting::select_finding(size_t index) {
  const analyzer::Finding& finding = model_->findings()[index];
  selection_ = {};
  selection_.finding = index;
  selection_.ranks = finding.ranks;
  constexpr size_t kUnfoldAtMost = 2;  // with more, the summary rows suffice
  const auto unfolded = static_cast<ptrdiff_t>(std::min(finding.ranks.size(), kUnfoldAtMost));
  tracks_.unfold({finding.ranks.begin(), finding.ranks.begin() + unfolded});
  if (const std::optional<int64_t> step = typical_step(*model_, &finding)) {
    selection_.step = *step;
    show_steps_around(*step);
    choose_collective(*step);
  } else if (!finding.evidence.empty()) {
    const analyzer::Evidence& evidence = finding.evidence.front();
    viewport_.show(padded({TraceNs{evidence.start_ns}, TraceNs{evidence.end_ns}}, 100));
  }
  for (const int rank : finding.ranks) {
    const auto place = model_->index_of_rank(rank);
    const Row* row = place ? tracks_.layout().of_rank(static_cast<int>(*place)) : nullptr;
    if (row != nullptr) {
      tracks_.scroll_to(*row);
      break;
    }
  }
}

void Selecting::select_step(int64_t step) {
  selection_.step = step;
  selection_.range.reset();
  selection_.slice.reset();
  show_steps_around(step);
  choose_collective(step);
}

void Selecting::select_collective(uint32_t index) {
  selection_ = {};
  selection_.collective = index;
  for (const analyzer::CollectiveMember& member : model_->collectives[index].members)
    selection_.ranks.push_back(member.rank);
  const Interval extent = extent_of(model_->collectives[index]);
  selection_.range = extent;
  viewport_.show(padded(extent, 100));
}

void Selecting::select_pair(const PairChoice& choice, analyzer::RankPair pair) {
  const PairExample example = example_of(*model_, choice, pair);
  selection_ = {};
  if (example.collective) {
    select_collective(*example.collective);
  } else if (example.message) {
    const analyzer::MatchedMessage& message = model_->messages[*example.message];
    const auto& part = message.receive ? message.receive : message.send;
    const Selector row{.kind = SelectorKind::kRow,
                       .number = part->rank,
                       .row = part->row,
                       .table = "collective",
                       .communicator = {},
                       .range = {}};
    // A message that never began is in no lane; its ranks are selected anyway.
    if (apply(*model_, row, selection_).ok()) focus();
  }
  selection_.ranks = {pair.rank, pair.peer};
  unfold_selected();
}

void Selecting::select_cell(int rank, int64_t step) {
  choose_rank(rank);
  select_step(step);
  unfold_selected();
}

void Selecting::select_range(std::optional<Interval> range) {
  selection_.range = range;
  if (range) {
    selection_.step.reset();
    selection_.slice.reset();
  }
}

Status Selecting::select(std::string_view text, bool keep) {
  const Result<Selector> selector = parse_selector(text);
  if (!selector.ok()) return fail(selector.error());
  // Durations mean nothing without a name.
  keep = keep || selector->kind == SelectorKind::kDuration;
  Selection chosen = keep ? selection_ : Selection{};
  Status applied = apply(*model_, *selector, chosen);
  if (!applied.ok()) return applied;
  switch (selector->kind) {
    case SelectorKind::kFinding:
      select_finding(*chosen.finding);
      return Done{};
    case SelectorKind::kStep:
      select_step(*chosen.step);
      return Done{};
    case SelectorKind::kRange:
    case SelectorKind::kSteps:
      select_range(chosen.range);
      viewport_.show(padded(*chosen.range, 50));
      return Done{};
    case SelectorKind::kRank:
    case SelectorKind::kTrack:
    case SelectorKind::kRow:
    case SelectorKind::kCollective:
    case SelectorKind::kName:
    case SelectorKind::kDuration:
      break;
  }
  selection_ = chosen;
  unfold_selected();
  if (const std::optional<Interval> extent = extent_of_selection()) {
    if (!viewport_.holds(*extent)) viewport_.focus(*extent);
  }
  return Done{};
}

void Selecting::unfold_selected() {
  tracks_.unfold(selection_.ranks);
  for (const int rank : selection_.ranks) tracks_.scroll_to_rank(rank);
}

void Selecting::select_rank(int rank) {
  choose_rank(rank);
  unfold_selected();
}

void Selecting::choose_rank(int rank) {
  const std::optional<size_t> finding = selection_.finding;
  selection_ = {};
  selection_.ranks = {rank};
  if (!finding) return;
  const std::vector<int>& ranks = model_->findings()[*finding].ranks;
  if (std::ranges::find(ranks, rank) != ranks.end()) selection_.finding = finding;
}

void Selecting::click(const Hit& hit) {
  if (hit.row == nullptr || hit.row->rank_index < 0) {
    selection_ = {};
    return;
  }
  const RankModel& rank = model_->ranks[static_cast<size_t>(hit.row->rank_index)];
  choose_rank(rank.rank);
  for (const analyzer::StepWindow& step : rank.steps) {
    if (step.window.begin <= hit.time && hit.time < step.window.end) selection_.step = step.index;
  }
  if (hit.row->kind == RowKind::kThread || hit.row->kind == RowKind::kMemory)
    selection_.track = hit.row->track;
  if (!hit.slice) return;
  selection_.slice = hit.slice;
  if (thread_of(*model_, *hit.slice).table != "collective") return;
  const int64_t row = lane_of(*model_, *hit.slice).row[hit.slice->slice];
  const auto member = rank.collective_of_row.find(row);
  if (member != rank.collective_of_row.end()) selection_.collective = member->second.collective;
}

void Selecting::show_slice() {
  if (!viewport_.holds(span_of(*model_, *selection_.slice))) focus();
}

Interval Selecting::range() const {
  if (selection_.range) return *selection_.range;
  if (selection_.step) {
    if (const auto index = model_->index_of_step(*selection_.step)) {
      return model_->steps[*index].window;
    }
  }
  return viewport_.range();
}

void Selecting::select_name(std::string pattern) {
  if (pattern != selection_.name) selection_.durations.reset();
  selection_.name = std::move(pattern);
}

void Selecting::select_durations(std::optional<DurationRange> durations) {
  if (durations) selection_.name = name();
  selection_.durations = durations;
}

void Selecting::select_event(const SlicePlace& place) {
  if (!selection_.range && !selection_.step) selection_.range = viewport_.range();
  selection_.slice = place;
  const int rank = rank_of(*model_, place).rank;
  if (!tracks_.arrangement().unfolded_ranks.contains(rank)) tracks_.unfold({rank});
  if (const Row* row = tracks_.layout().of_rank(place.rank_index)) tracks_.scroll_to(*row);
  show_slice();
}

void Selecting::select_failure() {
  if (!has_failed(*model_)) return;
  viewport_.show_page(Page::kTimeline);
  const std::optional<size_t> finding = selection_.finding;
  const std::optional<Interval> second = second_of_failure(*model_);
  if (const std::optional<uint32_t> hung = hung_collective(*model_)) {
    select_collective(*hung);
    for (const int rank : model_->report.hang->culprits) {
      if (std::ranges::count(selection_.ranks, rank) == 0) selection_.ranks.push_back(rank);
    }
  } else {
    selection_ = {};
    if (model_->report.hang) {
      const analyzer::Hang& hang = *model_->report.hang;
      selection_.ranks = hang.culprits.empty() ? hang.waiting : hang.culprits;
    } else {
      selection_.ranks = model_->report.ending->verdict.ranks;
    }
    unfold_selected();
  }
  selection_.finding = finding;
  selection_.range.reset();  // the Selection dock covers what is visible
  if (second) {
    viewport_.show(*second);
  } else {
    viewport_.go_to_end();
  }
}

void Selecting::select_slice(const SlicePlace& place) {
  selection_.slice = place;
  show_slice();
}

std::string Selecting::name() const {
  if (!selection_.name.empty()) return selection_.name;
  return selection_.slice ? name_of(*model_, *selection_.slice) : std::string();
}

std::optional<Interval> Selecting::extent_of_selection() const {
  if (selection_.slice) return span_of(*model_, *selection_.slice);
  if (selection_.range) return selection_.range;
  if (selection_.step) {
    if (const auto index = model_->index_of_step(*selection_.step)) {
      return model_->steps[*index].window;
    }
  }
  if (selection_.collective) return extent_of(model_->collectives[*selection_.collective]);
  return std::nullopt;
}

void Selecting::focus() {
  if (const std::optional<Interval> extent = extent_of_selection()) viewport_.focus(*extent);
}

}  // namespace dprof::view
