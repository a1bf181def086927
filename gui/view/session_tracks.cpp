// SPDX-License-Identifier: Apache-2.0
// How the user arranges a session's tracks: folded, filtered, pinned, hidden, in which order.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "gui/view/session.h"

namespace dprof::view {

void Session::relayout() {
  layout_ = make_layout(*model_, arrangement_);
  fix_pinned();
  hover_.reset();
  rank_drop_.reset();
  keep_scroll_inside();
}

// At most half of what is seen stands still.
void Session::fix_pinned() { layout_.fix_pinned(height_ / 2); }

bool Session::is_in_view(const Row& row) const {
  const int y = y_of(row);
  return y + row.height > (row.fixed ? 0 : layout_.fixed_height) && y < height_;
}

std::vector<size_t> Session::looked_at() const {
  std::vector<size_t> ranks;
  const auto add = [&](size_t rank_index) {
    if (std::ranges::find(ranks, rank_index) == ranks.end()) ranks.push_back(rank_index);
  };
  for (const int rank : selection_.ranks) {
    if (const auto index = model_->index_of_rank(rank)) add(*index);
  }
  for (const Row& row : layout_.rows) {
    if (row.kind == RowKind::kRank && !row.folded) add(static_cast<size_t>(row.rank_index));
  }
  for (const std::string& pattern : arrangement_.pinned) {
    if (pattern.find("/sql:") != std::string::npos) continue;  // needs no events
    const std::string of_rank = pattern.substr(0, pattern.find('/'));
    for (size_t r = 0; r < model_->ranks.size(); ++r) {
      if (track_matches(of_rank, fmt::format("rank:{}", model_->ranks[r].rank))) add(r);
    }
  }
  return ranks;
}

void Session::take_events(size_t rank_index, SharedEvents events) {
  const auto is_of_rank = [&](const SlicePlace& place) {
    return static_cast<size_t>(place.rank_index) == rank_index;
  };
  // Places of slices mean nothing in other events; results stand behind the threads, however many.
  if (selection_.slice && is_of_rank(*selection_.slice)) {
    const auto before = static_cast<int>(model_->ranks[rank_index].lanes().threads.size());
    const auto after = static_cast<int>(events->lanes.threads.size());
    const int result = selection_.slice->thread_index - before;
    selection_.slice->thread_index = result + after;
    if (result < 0) selection_.slice.reset();
  }
  if (std::ranges::any_of(flow_, is_of_rank)) forget_flow();
  model_->ranks[rank_index].events = std::move(events);
  find_message_ends();
  forget_events();
  relayout();
}

void Session::keep_scroll_inside() {
  constexpr int kBelowLastRow = 12;
  const int most = std::max(layout_.height + kBelowLastRow - height_, 0);
  scroll_ = std::clamp(scroll_, 0, most);
}

void Session::scroll_by(int pixels) {
  scroll_ += pixels;
  hover_.reset();
  keep_scroll_inside();
}

void Session::scroll_to(const Row& row) {
  if (row.fixed) return;
  scroll_ = std::min(scroll_, row.y - layout_.fixed_height);
  if (row.y + row.height > scroll_ + height_) scroll_ = row.y + row.height - height_;
  keep_scroll_inside();
}

void Session::toggle(const Row& row) {
  if (row.kind == RowKind::kGroup || row.pinned) return;
  if (row.kind == RowKind::kHost) {
    const std::string host = row.track.substr(std::string_view("host:").size());
    if (arrangement_.folded_hosts.erase(host) == 0) arrangement_.folded_hosts.insert(host);
  } else {
    const int rank = model_->ranks[static_cast<size_t>(row.rank_index)].rank;
    if (arrangement_.unfolded_ranks.erase(rank) == 0) arrangement_.unfolded_ranks.insert(rank);
  }
  relayout();
}

void Session::toggle_selected() {
  for (const int rank : selection_.ranks) {
    if (const auto index = model_->index_of_rank(rank)) {
      if (const Row* row = layout_.of_rank(static_cast<int>(*index))) {
        toggle(*row);
        return;
      }
    }
  }
}

void Session::set_filter(std::string filter) {
  if (filter == arrangement_.filter) return;
  remember(Moving::kFilter);
  arrangement_.filter = std::move(filter);
  relayout();
}

std::vector<std::string> Session::tracks_of_communicator() const {
  std::vector<std::string> tracks;
  if (!selection_.collective) return tracks;
  const std::string& communicator = model_->collectives[*selection_.collective].communicator;
  std::set<int> ranks;
  for (const analyzer::MatchedCollective& one : model_->collectives) {
    if (one.communicator != communicator) continue;
    for (const analyzer::CollectiveMember& member : one.members) ranks.insert(member.rank);
  }
  for (const int rank : ranks) tracks.push_back(fmt::format("rank:{}", rank));
  return tracks;
}

std::vector<std::string> Session::selected_tracks() const {
  if (!selection_.track.empty()) return {selection_.track};
  if (selection_.slice) {
    return {
        track_of(rank_of(*model_, *selection_.slice).rank, thread_of(*model_, *selection_.slice))};
  }
  std::vector<std::string> tracks;
  for (const int rank : selection_.ranks) tracks.push_back(fmt::format("rank:{}", rank));
  return tracks;
}

void Session::pin(const std::vector<std::string>& patterns) {
  std::vector<std::string>& pinned = arrangement_.pinned;
  const bool all_there = std::ranges::all_of(patterns, [&](const std::string& pattern) {
    return std::ranges::find(pinned, pattern) != pinned.end();
  });
  for (const std::string& pattern : patterns) {
    const auto at = std::ranges::find(pinned, pattern);
    if (all_there) {
      pinned.erase(at);
    } else if (at == pinned.end()) {
      pinned.push_back(pattern);
    }
  }
  relayout();
}

std::string Session::pattern_of_selected() const {
  const std::vector<std::string> tracks = selected_tracks();
  if (tracks.empty()) return {};
  const size_t slash = tracks.front().find('/');
  return slash == std::string::npos ? "rank:*" : "rank:*" + tracks.front().substr(slash);
}

void Session::hide(const std::vector<std::string>& tracks) {
  arrangement_.hidden.insert(tracks.begin(), tracks.end());
  relayout();
}

void Session::show_hidden() {
  arrangement_.hidden.clear();
  relayout();
}

// Rank rows of a rank's host, in the order in which they stand.
std::vector<const Row*> Session::rows_beside(int rank) const {
  std::vector<const Row*> rows;
  const RankModel* moved = model_->rank(rank);
  if (moved == nullptr) return rows;
  for (const Row& row : layout_.rows) {
    if (row.kind != RowKind::kRank || row.pinned) continue;
    if (model_->ranks[static_cast<size_t>(row.rank_index)].host == moved->host)
      rows.push_back(&row);
  }
  return rows;
}

void Session::move_rank(int rank, int by) {
  std::vector<int> order;
  for (const Row* row : rows_beside(rank))
    order.push_back(model_->ranks[static_cast<size_t>(row->rank_index)].rank);
  const auto at = std::ranges::find(order, rank);
  if (at == order.end()) return;
  const auto from = static_cast<int>(at - order.begin());
  const int to = std::clamp(from + by, 0, static_cast<int>(order.size()) - 1);
  order.erase(at);
  order.insert(order.begin() + to, rank);
  for (const int one : arrangement_.order) {
    if (std::ranges::find(order, one) == order.end()) order.push_back(one);
  }
  arrangement_.order = std::move(order);
  relayout();
}

void Session::drag_rank(int rank, int y) {
  rank_drop_.reset();
  const std::vector<const Row*> rows = rows_beside(rank);
  const auto dragged = std::ranges::find(rows, fmt::format("rank:{}", rank), &Row::track);
  if (dragged == rows.end()) return;
  // Above each of them, or below all that belongs to the last one.
  std::vector<int> gaps;
  for (const Row* row : rows) gaps.push_back(row->y);
  const std::string within = rows.back()->track + "/";
  int end = rows.back()->y + rows.back()->height;
  for (const Row& row : layout_.rows) {
    if (!row.pinned && row.track.starts_with(within)) end = row.y + row.height;
  }
  gaps.push_back(end);
  const int held = layout_y(y);
  const auto nearest =
      std::ranges::min_element(gaps, {}, [&](int gap) { return std::abs(gap - held); });
  const auto from = static_cast<int>(dragged - rows.begin());
  const auto to = static_cast<int>(nearest - gaps.begin());
  rank_drop_ = RankDrop{.rank = rank, .by = to > from ? to - from - 1 : to - from, .y = *nearest};
}

void Session::drop_rank() {
  const std::optional<RankDrop> drop = std::exchange(rank_drop_, std::nullopt);
  if (drop) move_rank(drop->rank, drop->by);
}

}  // namespace dprof::view
