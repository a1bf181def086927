// SPDX-License-Identifier: Apache-2.0
// The timeline's rows and their positions: folded, filtered, pinned, hidden, in the user's order,
// scrolled.
//
// Threading  the user interface's thread only.
// Units      pixels.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gui/view/drawing/draw_list.h"
#include "gui/view/model/layout.h"
#include "gui/view/model/model.h"
#include "gui/view/model/slice_place.h"

namespace dprof::view {

// The item under the mouse.
struct Hover {
  Point at;  // in the rows' area
  std::optional<SlicePlace> slice;
  std::optional<uint32_t> piece;
  int rank_index = -1;
  uint32_t folded = 0;
  int memory = -1;  // into RankModel::memory
  int jump = -1;    // on the critical path, into RunPath::jumps
};

// The place where a dragged rank would be dropped.
struct RankDrop {
  int rank = 0;
  int by = 0;  // places down (negative: up) among those of its host
  int y = 0;   // between which rows, in the layout
};

class Tracks {
 public:
  // Rows of another run, or of the same one read again: the arrangement stays.
  void show(std::shared_ptr<const Model> model);
  void arrange(Arrangement arrangement);
  // Rebuilds the rows after the model's events have changed.
  void relayout();
  // A small run shows all its threads, a large one those of ranks already unfolded.
  void unfold_what_fits();

  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] const Arrangement& arrangement() const { return arrangement_; }
  [[nodiscard]] const std::optional<Hover>& hover() const { return hover_; }
  void set_hover(std::optional<Hover> hover) { hover_ = std::move(hover); }

  // A row's position in the area of rows, and the layout position at a height of that area: pinned
  // rows stay on top, the others scroll below them.
  [[nodiscard]] int y_of(const Row& row) const { return row.fixed ? row.y : row.y - scroll_; }
  [[nodiscard]] int layout_y(int y) const { return y < layout_.fixed_height ? y : y + scroll_; }
  // True if at least part of a row is visible.
  [[nodiscard]] bool is_in_view(const Row& row) const;
  [[nodiscard]] int scroll() const { return scroll_; }
  void set_height(int height);  // of the area that shows rows
  void scroll_by(int pixels);
  void scroll_to(const Row& row);
  void scroll_to_top();
  // Scrolls to as many of its rows as there is room for.
  void scroll_to_rank(int rank);

  void toggle(const Row& row);
  void toggle_first_of(const std::vector<int>& ranks);
  void unfold(const std::vector<int>& ranks);
  void set_filter(std::string filter);
  // Also shows matching tracks on top; pinning the same ones again unpins them.
  void pin(const std::vector<std::string>& patterns);
  void hide(const std::vector<std::string>& tracks);
  void show_hidden();
  // Up (by < 0) or down among those of its host.
  void move_rank(int rank, int by);
  // A rank is dragged at a height of the rows' area; drop_rank() moves it there.
  void drag_rank(int rank, int y);
  [[nodiscard]] const std::optional<RankDrop>& rank_drop() const { return rank_drop_; }
  void drop_rank();
  void cancel_drag() { rank_drop_.reset(); }

 private:
  void fix_pinned();
  void keep_scroll_inside();
  [[nodiscard]] std::vector<const Row*> rows_beside(int rank) const;

  std::shared_ptr<const Model> model_;
  Arrangement arrangement_;
  Layout layout_;
  int height_ = 500;
  int scroll_ = 0;
  std::optional<Hover> hover_;
  std::optional<RankDrop> rank_drop_;
};

}  // namespace dprof::view
