// SPDX-License-Identifier: Apache-2.0
#include "gui/view/session/tracks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace dprof::view {

void Tracks::show(std::shared_ptr<const Model> model) {
  model_ = std::move(model);
  relayout();
}

void Tracks::arrange(Arrangement arrangement) {
  arrangement_ = std::move(arrangement);
  relayout();
}

void Tracks::relayout() {
  layout_ = make_layout(*model_, arrangement_);
  fix_pinned();
  hover_.reset();
  rank_drop_.reset();
  keep_scroll_inside();
}

void Tracks::unfold_what_fits() {
  const Arrangement chosen = arrangement_;
  for (const RankModel& rank : model_->ranks) arrangement_.unfolded_ranks.insert(rank.rank);
  relayout();
  constexpr size_t kAlwaysWhole = 2;
  if (layout_.height <= height_ || model_->ranks.size() <= kAlwaysWhole) return;
  arrangement_ = chosen;
  if (arrangement_.unfolded_ranks.empty() && !model_->ranks.empty()) {
    arrangement_.unfolded_ranks.insert(model_->ranks.front().rank);
  }
  relayout();
}

// At most half of the visible area is fixed.
void Tracks::fix_pinned() { layout_.fix_pinned(height_ / 2); }

void Tracks::set_height(int height) {
  height_ = std::max(height, 1);
  if (model_ == nullptr) return;
  fix_pinned();
  keep_scroll_inside();
}

void Tracks::scroll_to_top() { scroll_ = 0; }

void Tracks::unfold(const std::vector<int>& ranks) {
  arrangement_.unfolded_ranks.insert(ranks.begin(), ranks.end());
  relayout();
}

void Tracks::set_filter(std::string filter) {
  if (filter == arrangement_.filter) return;
  arrangement_.filter = std::move(filter);
  relayout();
}

void Tracks::scroll_to_rank(int rank) {
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

bool Tracks::is_in_view(const Row& row) const {
  const int y = y_of(row);
  return y + row.height > (row.fixed ? 0 : layout_.fixed_height) && y < height_;
}

void Tracks::keep_scroll_inside() {
  constexpr int kBelowLastRow = 12;
  const int most = std::max(layout_.height + kBelowLastRow - height_, 0);
  scroll_ = std::clamp(scroll_, 0, most);
}

void Tracks::scroll_by(int pixels) {
  scroll_ += pixels;
  hover_.reset();
  keep_scroll_inside();
}

void Tracks::scroll_to(const Row& row) {
  if (row.fixed) return;
  scroll_ = std::min(scroll_, row.y - layout_.fixed_height);
  if (row.y + row.height > scroll_ + height_) scroll_ = row.y + row.height - height_;
  keep_scroll_inside();
}

void Tracks::toggle(const Row& row) {
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

void Tracks::toggle_first_of(const std::vector<int>& ranks) {
  for (const int rank : ranks) {
    const auto index = model_->index_of_rank(rank);
    const Row* row = index ? layout_.of_rank(static_cast<int>(*index)) : nullptr;
    if (row != nullptr) return toggle(*row);
  }
}

void Tracks::pin(const std::vector<std::string>& patterns) {
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

void Tracks::hide(const std::vector<std::string>& tracks) {
  arrangement_.hidden.insert(tracks.begin(), tracks.end());
  relayout();
}

void Tracks::show_hidden() {
  arrangement_.hidden.clear();
  relayout();
}

// The rank rows of a rank's host, in display order.
std::vector<const Row*> Tracks::rows_beside(int rank) const {
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

void Tracks::move_rank(int rank, int by) {
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

void Tracks::drag_rank(int rank, int y) {
  rank_drop_.reset();
  const std::vector<const Row*> rows = rows_beside(rank);
  const auto dragged = std::ranges::find(rows, fmt::format("rank:{}", rank), &Row::track);
  if (dragged == rows.end()) return;
  // Above each of them, or below everything that belongs to the last one.
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

void Tracks::drop_rank() {
  const std::optional<RankDrop> drop = std::exchange(rank_drop_, std::nullopt);
  if (drop) move_rank(drop->rank, drop->by);
}

}  // namespace dprof::view
