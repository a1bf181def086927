// SPDX-License-Identifier: Apache-2.0
#include "gui/view/timeline/notable_strip.h"

#include <algorithm>

#include "gui/view/drawing/texts.h"
#include "gui/view/figures/notable_ranks.h"

namespace dprof::view {
namespace {

constexpr int kNotableMargin = 16;
constexpr int kNotableTop = 5;
constexpr int kNotableGap = 8;
constexpr int kNotablePadding = 10;

struct Chip {
  NotableRank first;
  size_t ranks = 1;  // of its host, where several are culprits
};

// Culprits of one host that follow each other are one.
std::vector<Chip> chips_of(const Model& model) {
  std::vector<Chip> chips;
  for (const NotableRank& one : notable_ranks(model)) {
    const bool same = !chips.empty() && one.reason == RankReason::kCulprit &&
                      chips.back().first.reason == RankReason::kCulprit &&
                      model.ranks[chips.back().first.index].host == model.ranks[one.index].host;
    if (same) {
      ++chips.back().ranks;
    } else {
      chips.push_back({.first = one});
    }
  }
  return chips;
}

std::string name_of(const Model& model, const Chip& chip) {
  const std::string& host = model.ranks[chip.first.index].host;
  if (chip.ranks > 1) return say("{}: {} ranks, rank {}", host, chip.ranks, chip.first.rank);
  return model.report.run.hosts > 1 ? say("rank {}  {}", chip.first.rank, host)
                                    : say("rank {}", chip.first.rank);
}

}  // namespace

Panel draw_notable_strip(const Model& model, Selecting& selecting, int width,
                         const TextMeasure& measure) {
  Panel panel;
  if (!has_many_ranks(model)) return panel;
  DrawList& list = panel.list;
  panel.height = kNotableStripHeight;
  list.rect({0, 0, width, kNotableStripHeight}, Role::kWindow);
  list.line({0, kNotableStripHeight - 1}, {width, kNotableStripHeight - 1}, Role::kBorder);
  constexpr int kNotableHeight = kNotableStripHeight - 2 * kNotableTop;
  int x = kNotableMargin;
  const auto text = [&](std::string words, TextStyle style) {
    const int wide = measure.width(words, style.font);
    list.text({x, kNotableTop, wide + 2, kNotableHeight}, std::move(words), style);
    x += wide + kNotableGap;
  };
  text(say("Worth a look"), {.role = Role::kTextDim, .font = Font::kSmall});
  for (const Chip& chip : chips_of(model)) {
    const std::string title(title_of(chip.first.reason));
    const std::string name = name_of(model, chip);
    const std::string figure = figure_of(chip.first);
    int wide = 2 * kNotablePadding + measure.width(title, Font::kSmall) + kNotableGap +
               measure.width(name, Font::kBold);
    if (!figure.empty()) wide += kNotableGap + measure.width(figure, Font::kSmall);
    if (x + wide > width - kNotableMargin) break;
    const Box box{x, kNotableTop, wide, kNotableHeight};
    const bool guilty = chip.first.reason == RankReason::kCulprit;
    const bool chosen = selecting.selection().has_rank(chip.first.rank);
    list.rect(box, guilty ? Role::kProblemSoft : (chosen ? Role::kAccentSoft : Role::kCard), {}, 0,
              6);
    list.frame(box, guilty ? Role::kProblem : (chosen ? Role::kAccent : Role::kBorder), 6);
    x += kNotablePadding;
    text(title, {.role = guilty ? Role::kProblem : Role::kTextDim, .font = Font::kSmall});
    text(name, {.role = guilty ? Role::kProblem : Role::kText, .font = Font::kBold});
    if (!figure.empty()) text(figure, {.font = Font::kSmall});
    x = box.x + wide + kNotableGap;
    panel.links.push_back({box,
                           [&selecting, rank = chip.first.rank] { selecting.select_rank(rank); },
                           /*shows=*/true});
  }
  return panel;
}

}  // namespace dprof::view
