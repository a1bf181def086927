// SPDX-License-Identifier: Apache-2.0
// What is selected in a session, and how the view follows it.
#include <algorithm>
#include <limits>

#include "analyzer/lane_walk.h"
#include "gui/view/collective_times.h"
#include "gui/view/session.h"

namespace dprof::view {

int64_t Session::step_at(TraceNs time) const {
  int64_t nearest = model_->steps.front().index;
  for (const analyzer::StepWindow& step : model_->steps) {
    if (step.window.begin <= time) nearest = step.index;
  }
  return nearest;
}

// The step that a finding's evidence lies in; where that is longer, a steady step near its middle
// whose neighbourhood is as long as usual; without evidence, near the middle of all.
std::optional<int64_t> Session::typical_step(const analyzer::Finding* finding) const {
  const std::vector<analyzer::StepWindow>& steps = model_->steps;
  if (steps.empty()) return std::nullopt;
  size_t first = 0;
  size_t last = steps.size() - 1;
  int64_t usual_ns = steps[steps.size() / 2].window.length().ns;
  if (const std::optional<analyzer::StepsInfo>& info = model_->report.run.steps) {
    first = model_->index_of_step(info->first_steady).value_or(first);
    last = model_->index_of_step(info->last_steady).value_or(last);
    usual_ns = info->median_ns;
  }
  if (finding != nullptr) {
    for (const analyzer::Evidence& evidence : finding->evidence) {
      if (evidence.end_ns - evidence.start_ns <= 2 * usual_ns) {
        return step_at(TraceNs{evidence.start_ns});
      }
    }
    for (const analyzer::Evidence& evidence : finding->evidence) {
      const auto index = [&](int64_t ns) { return *model_->index_of_step(step_at(TraceNs{ns})); };
      const size_t from = std::max(first, index(evidence.start_ns));
      const size_t to = std::min(last, index(evidence.end_ns));
      if (from > to) continue;
      first = from;
      last = to;
      break;
    }
  }
  constexpr size_t kNear = 10;
  const size_t middle = (first + last) / 2;
  size_t best = middle;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (size_t i = std::max(first, middle - std::min(middle, kNear));
       i <= std::min(last, middle + kNear); ++i) {
    const Interval shown{steps[i == 0 ? 0 : i - 1].window.begin,
                         steps[std::min(i + 1, steps.size() - 1)].window.end};
    const int64_t unusual = std::abs(shown.length().ns - 3 * usual_ns);
    if (unusual >= least) continue;
    least = unusual;
    best = i;
  }
  return steps[best].index;
}

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
  for (size_t i = 0; i < std::min(finding.ranks.size(), kUnfoldAtMost); ++i) {
    arrangement_.unfolded_ranks.insert(finding.ranks[i]);
  }
  relayout();
  if (const std::optional<int64_t> step = typical_step(&finding)) {
    selection_.step = *step;
    show_steps_around(*step);
    choose_collective(*step);
  } else if (!finding.evidence.empty()) {
    const analyzer::Evidence& evidence = finding.evidence.front();
    show(padded({TraceNs{evidence.start_ns}, TraceNs{evidence.end_ns}}, 100));
  }
  for (const int rank : finding.ranks) {
    const auto place = model_->index_of_rank(rank);
    const Row* row = place ? layout_.of_rank(static_cast<int>(*place)) : nullptr;
    if (row != nullptr) {
      scroll_to(*row);
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
  const PairExample example = example_of(*model_, pair_choice_, pair);
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
  const Status applied = apply(*model_, *selector, chosen);
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
  for (const int rank : selection_.ranks) arrangement_.unfolded_ranks.insert(rank);
  relayout();
  for (const int rank : selection_.ranks) scroll_to_rank(rank);
}

// To as many of its rows as there is room for.
void Session::scroll_to_rank(int rank) {
  const auto index = model_->index_of_rank(rank);
  const Row* row = index ? layout_.of_rank(static_cast<int>(*index)) : nullptr;
  if (row == nullptr) return;
  Row block = *row;
  for (const Row* next = row + 1; next != layout_.rows.data() + layout_.rows.size(); ++next) {
    if (next->rank_index != row->rank_index) break;
    block.height = next->y + next->height - row->y;
  }
  block.height = std::min(block.height, height_ - layout_.fixed_height);
  scroll_to(block);
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
  const int64_t current = selection_.step ? *selection_.step : step_at(middle);
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

}  // namespace dprof::view
