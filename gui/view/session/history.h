// SPDX-License-Identifier: Apache-2.0
// Ways back to earlier views.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/interval.h"
#include "gui/view/session/page.h"

namespace dprof::view {

// A state to which the history leads back.
struct Looked {
  Interval range;
  Page page = Page::kTimeline;
  std::string filter;
};

// Invariant  consecutive moves of one kind (zooms and pans; changes of the filter) are one step.
class History {
 public:
  enum class Move : uint8_t { kJump, kZoom, kFilter };

  // Called before the view changes.
  void remember(Looked now, Move move) {
    if (move == Move::kJump || move != last_) {
      back_.push_back(std::move(now));
      if (back_.size() > kMost) back_.erase(back_.begin());
      forward_.clear();
    }
    last_ = move;
  }
  void forget() { *this = {}; }
  void forget_back() { back_.clear(); }
  // nullopt = the history is empty.
  std::optional<Looked> back(Looked now) { return go(back_, forward_, std::move(now)); }
  std::optional<Looked> forward(Looked now) { return go(forward_, back_, std::move(now)); }

 private:
  static constexpr size_t kMost = 100;

  std::optional<Looked> go(std::vector<Looked>& from, std::vector<Looked>& to, Looked now) {
    if (from.empty()) return std::nullopt;
    to.push_back(std::move(now));
    Looked there = std::move(from.back());
    from.pop_back();
    last_ = Move::kJump;
    return there;
  }

  std::vector<Looked> back_;
  std::vector<Looked> forward_;
  Move last_ = Move::kJump;
};

}  // namespace dprof::view
