// SPDX-License-Identifier: Apache-2.0
// What is selected in a session, and how the view follows it.
#include <algorithm>

#include "analyzer/lanes/lane_walk.h"
#include "gui/view/figures/collective_times.h"
#include "gui/view/session/landmarks.h"
#include "gui/view/session/session.h"

namespace dprof::view {

void Session::show_steps_around(int64_t step) {
  const std::optional<size_t> index = model_->index_of_step(step);
  if (!index) return;
  const size_t first = *index == 0 ? 0 : *index - 1;
  const size_t last = std::min(*index + 1, model_->steps.size() - 1);
  show(padded({model_->steps[first].window.begin, model_->steps[last].window.end}, 5));
}

void Session::choose_collective(int64_t step) {
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

void Session::select_finding(size_t index) {
  const analyzer::Finding& finding = model_->findings()[index];
  selection_ = {};
  selection_.finding = index;
  selection_.ranks = finding.ranks;
  constexpr size_t kUnfoldAtMost = 2;  // of more, the summary rows tell the story
  const auto unfolded = static_cast<ptrdiff_t>(std::min(finding.ranks.size(), kUnfoldAtMost));
  tracks_.unfold({finding.ranks.begin(), finding.ranks.begin() + unfolded});
  if (const std::optional<int64_t> step = typical_step(*model_, &finding)) {
    selection_.step = *step;
    show_steps_around(*step);
    choose_collective(*step);
  } else if (!finding.evidence.empty()) {
    const analyzer::Evidence& evidence = finding.evidence.front();
    show(padded({TraceNs{evidence.start_ns}, TraceNs{evidence.end_ns}}, 100));
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

void Session::select_step(int64_t step) {
  selection_.step = step;
  selection_.range.reset();
  selection_.slice.reset();
  show_steps_around(step);
  choose_collective(step);
}

void Session::select_collective(uint32_t index) {
  selection_ = {};
  selection_.collective = index;
  for (const analyzer::CollectiveMember& member : model_->collectives[index].members)
    selection_.ranks.push_back(member.rank);
  const Interval extent = extent_of(model_->collectives[index]);
  selection_.range = extent;
  show(padded(extent, 100));
}

void Session::select_pair(analyzer::RankPair pair) {
  const PairExample example = example_of(*model_, pages_.pair_choice(), pair);
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
    // A message that never began is in no lane; its ranks are selected all the same.
    if (apply(*model_, row, selection_).ok()) focus();
  }
  selection_.ranks = {pair.rank, pair.peer};
  unfold_selected();
}

void Session::select_cell(int rank, int64_t step) {
  choose_rank(rank);
  select_step(step);
  unfold_selected();
}

void Session::select_range(std::optional<Interval> range) {
  selection_.range = range;
  if (range) {
    selection_.step.reset();
    selection_.slice.reset();
  }
}

void Session::clear_selection() { selection_ = {}; }

Status Session::select(std::string_view text, bool keep) {
  const Result<Selector> selector = parse_selector(text);
  if (!selector.ok()) return fail(selector.error());
  // How long events take says nothing without what they are.
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
      show(padded(*chosen.range, 50));
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
    const bool visible = extent->begin >= range_.begin && extent->end <= range_.end;
    if (!visible) focus();
  }
  return Done{};
}

void Session::unfold_selected() {
  tracks_.unfold(selection_.ranks);
  for (const int rank : selection_.ranks) tracks_.scroll_to_rank(rank);
}

void Session::select_rank(int rank) {
  choose_rank(rank);
  unfold_selected();
}

void Session::choose_rank(int rank) {
  const std::optional<size_t> finding = selection_.finding;
  selection_ = {};
  selection_.ranks = {rank};
  if (!finding) return;
  const std::vector<int>& ranks = model_->findings()[*finding].ranks;
  if (std::ranges::find(ranks, rank) != ranks.end()) selection_.finding = finding;
}

void Session::click(const Hit& hit) {
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

bool Session::next_finding(int by) {
  const auto count = static_cast<int>(model_->findings().size());
  if (count == 0) return false;
  const int current = selection_.finding ? static_cast<int>(*selection_.finding) : -1;
  const int next = current < 0 ? (by > 0 ? 0 : count - 1) : current + by;
  if (next < 0 || next >= count) return false;
  select_finding(static_cast<size_t>(next));
  return true;
}

bool Session::next_step(int by) {
  if (model_->steps.empty()) return false;
  const TraceNs middle = range_.begin + DurationNs{range_.length().ns / 2};
  const int64_t current = selection_.step ? *selection_.step : step_at(*model_, middle);
  const std::optional<size_t> index = model_->index_of_step(current);
  if (!index) return false;
  const int64_t next = static_cast<int64_t>(*index) + by;
  if (next < 0 || next >= static_cast<int64_t>(model_->steps.size())) return false;
  select_step(model_->steps[static_cast<size_t>(next)].index);
  return true;
}

bool Session::next_arrival(int by) {
  if (!selection_.collective) return false;
  const analyzer::MatchedCollective& collective = model_->collectives[*selection_.collective];
  const auto members = arrivals_of(collective);
  if (members.empty()) return false;
  const auto current = std::find_if(members.begin(), members.end(), [&](const auto* member) {
    return selection_.slice && selection_.has_rank(member->rank);
  });
  int64_t next = by > 0 ? 0 : static_cast<int64_t>(members.size()) - 1;
  if (current != members.end()) next = (current - members.begin()) + by;
  if (next < 0 || next >= static_cast<int64_t>(members.size())) return false;
  const analyzer::CollectiveMember& member = *members[static_cast<size_t>(next)];
  const size_t kept = *selection_.collective;
  const std::optional<size_t> finding = selection_.finding;
  const std::optional<int64_t> step = selection_.step;
  const Status found =
      select("row:" + std::to_string(member.rank) + "/collective/" + std::to_string(member.row));
  selection_.collective = kept;
  selection_.finding = finding;
  selection_.step = step;
  return found.ok();
}

void Session::show_slice() {
  const Interval span = span_of(*model_, *selection_.slice);
  if (span.begin < range_.begin || span.end > range_.end) focus();
}

bool Session::next_slice(int by) {
  if (!selection_.slice) return false;
  SlicePlace place = *selection_.slice;
  const analyzer::Lane& lane = lane_of(*model_, place);
  const int64_t next = static_cast<int64_t>(place.slice) + by;
  if (next < 0 || next >= static_cast<int64_t>(lane.start_ns.size())) return false;
  place.slice = static_cast<uint32_t>(next);
  selection_.slice = place;
  show_slice();
  return true;
}

bool Session::next_depth(int by) {
  if (!selection_.slice) return false;
  SlicePlace place = *selection_.slice;
  const Interval own = span_of(*model_, place);
  place.depth += by;
  const auto depths = static_cast<int>(thread_of(*model_, *selection_.slice).depths.size());
  if (place.depth < 0 || place.depth >= depths) return false;
  const analyzer::Lane& lane = lane_of(*model_, place);
  const analyzer::SliceRange range = analyzer::slices_in(lane, own);
  for (size_t i = range.first; i < range.end; ++i) {
    place.slice = static_cast<uint32_t>(i);
    const Interval other = span_of(*model_, place);
    const Interval outer = by < 0 ? other : own;
    const Interval inner = by < 0 ? own : other;
    if (inner.begin < outer.begin || inner.end > outer.end) continue;
    selection_.slice = place;
    show_slice();
    return true;
  }
  return false;
}

Interval Session::selected_range() const {
  if (selection_.range) return *selection_.range;
  if (selection_.step) {
    if (const auto index = model_->index_of_step(*selection_.step)) {
      return model_->steps[*index].window;
    }
  }
  return range_;
}

void Session::select_name(std::string pattern) {
  if (pattern != selection_.name) selection_.durations.reset();
  selection_.name = std::move(pattern);
}

void Session::select_durations(std::optional<DurationRange> durations) {
  if (durations) selection_.name = histogram_name();
  selection_.durations = durations;
}

void Session::select_event(const SlicePlace& place) {
  if (!selection_.range && !selection_.step) selection_.range = range_;
  selection_.slice = place;
  const int rank = rank_of(*model_, place).rank;
  if (!tracks_.arrangement().unfolded_ranks.contains(rank)) tracks_.unfold({rank});
  if (const Row* row = tracks_.layout().of_rank(place.rank_index)) tracks_.scroll_to(*row);
  show_slice();
}

bool Session::next_named(std::string_view pattern, int by) {
  const auto found = dprof::view::next_named(*model_, pattern, selection_.slice,
                                             by > 0 ? range_.begin : range_.end, by);
  if (!found) return false;
  const Selection kept = selection_;
  choose_rank(rank_of(*model_, *found).rank);
  selection_.name = kept.name;
  selection_.durations = kept.durations;
  selection_.slice = found;
  unfold_selected();
  show_slice();
  return true;
}

void Session::show_flow(const SlicePlace& of, const std::vector<analyzer::RelatedRow>& rows) {
  flow_.show(*model_, of, rows);
  if (selection_.slice == of && !selection_.collective) selection_.collective = flow_.collective();
}

std::vector<SlicePlace> Session::flow() const {
  return is_in_flow() && flow_.places().size() > 1 ? flow_.places() : std::vector<SlicePlace>();
}

std::vector<ShownMessage> Session::messages() const {
  return is_in_flow() ? flow_.messages() : std::vector<ShownMessage>();
}

bool Session::next_in_flow(int by) {
  const std::vector<SlicePlace> all = flow();
  if (all.empty()) return false;
  const auto at = std::ranges::find(all, *selection_.slice) - all.begin() + by;
  if (at < 0 || at >= static_cast<ptrdiff_t>(all.size())) return false;
  select_event(all[static_cast<size_t>(at)]);
  return true;
}

void Session::select_hang() {
  if (!model_->report.hang) return;
  show_page(Page::kTimeline);
  if (const std::optional<uint32_t> hung = hung_collective(*model_)) {
    const std::optional<size_t> finding = selection_.finding;
    select_collective(*hung);
    selection_.finding = finding;
    return;
  }
  const analyzer::Hang& hang = *model_->report.hang;
  selection_ = {};
  selection_.ranks = hang.culprits.empty() ? hang.waiting : hang.culprits;
  unfold_selected();
  go_to_end();
}

}  // namespace dprof::view
