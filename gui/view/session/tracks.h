// SPDX-License-Identifier: Apache-2.0
// Which rows the timeline has, and where they are seen: folded, filtered, pinned, hidden, in the
// order that the user gave them, scrolled.
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

// What the mouse is over.
struct Hover {
  Point at;  // in the rows' area
  std::optional<SlicePlace> slice;
  std::optional<uint32_t> piece;
  int rank_index = -1;
  uint32_t folded = 0;
  int memory = -1;  // into RankModel::memory
  int jump = -1;    // of the critical path, into RunPath::jumps
};

// Where a rank that is dragged would come to stand.
struct RankDrop {
  int rank = 0;
  int by = 0;  // places down (or up, where negative) among those of its host
  int y = 0;   // between which rows, in the layout
};

class Tracks {
 public:
  // Rows of another run, or of the same one read again: what was arranged stays.
  void show(std::shared_ptr<const Model> model);
  void arrange(Arrangement arrangement);
  // The rows again, after the model's events have changed.
  void relayout();
  // A small run shows all its threads, a large one those of the ranks that are unfolded already.
  void unfold_what_fits();

  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] const Arrangement& arrangement() const { return arrangement_; }
  [[nodiscard]] const std::optional<Hover>& hover() const { return hover_; }
  void set_hover(std::optional<Hover> hover) { hover_ = std::move(hover); }

  // Where a row is in the area that shows rows, and what of the layout is at a height of that area:
  // pinned rows stay on top, the others scroll below them.
  [[nodiscard]] int y_of(const Row& row) const { return row.fixed ? row.y : row.y - scroll_; }
  [[nodiscard]] int layout_y(int y) const { return y < layout_.fixed_height ? y : y + scroll_; }
  // Whether at least a part of a row can be seen.
  [[nodiscard]] bool is_in_view(const Row& row) const;
  [[nodiscard]] int scroll() const { return scroll_; }
  void set_height(int height);  // of the area that shows rows
  void scroll_by(int pixels);
  void scroll_to(const Row& row);
  void scroll_to_top();
  // To as many of its rows as there is room for.
  void scroll_to_rank(int rank);

  void toggle(const Row& row);
  void toggle_first_of(const std::vector<int>& ranks);
  void unfold(const std::vector<int>& ranks);
  void set_filter(std::string filter);
  // Tracks that match are shown on top, too; pinning all the same ones again unpins them.
  void pin(const std::vector<std::string>& patterns);
  void hide(const std::vector<std::string>& tracks);
  void show_hidden();
  // Up (by < 0) or down among those of its host.
  void move_rank(int rank, int by);
  // A rank is held at a height of the rows' area; drop_rank() moves it to where it is held then.
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
