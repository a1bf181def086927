// SPDX-License-Identifier: Apache-2.0
#include "gui/view/timeline/notable_strip.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "gui/view/drawing/texts.h"
#include "gui/view/figures/notable_ranks.h"

namespace dprof::view {
namespace {

constexpr int kNotableMargin = 16;
constexpr int kNotableTop = 5;
constexpr int kNotableGap = 8;
constexpr int kNotablePadding = 10;

struct Chip {
  std::string title;
  std::string name;
  std::string figure;
  bool guilty = false;
  bool chosen = false;
  std::function<void()> follow;
};

// Merges consecutive culprits on one host.
class Chips {
 public:
  Chips(const Model& model, Selecting& selecting) : model_(model), selecting_(selecting) {}

  std::vector<Chip> make() && {
    if (const std::optional<RotatingDelay> delay = rotating_delay(model_)) add(*delay);
    const std::vector<NotableRank> ranks = notable_ranks(model_);
    for (size_t first = 0; first < ranks.size();) {
      size_t end = first + 1;
      while (end < ranks.size() && is_of_same_host(ranks[first], ranks[end])) ++end;
      add(ranks[first], end - first);
      first = end;
    }
    return std::move(chips_);
  }

 private:
  [[nodiscard]] const std::string& host_of(const NotableRank& one) const {
    return model_.ranks[one.index].host;
  }
  [[nodiscard]] bool is_of_same_host(const NotableRank& one, const NotableRank& other) const {
    return one.reason == RankReason::kCulprit && other.reason == RankReason::kCulprit &&
           host_of(one) == host_of(other);
  }

  void add(const RotatingDelay& delay) {
    chips_.push_back({std::string(title_of(RankReason::kCulprit)),
                      say("a different rank in each step"), "+" + format_ms({delay.cost_ns}),
                      /*guilty=*/true,
                      delay.finding && selecting_.selection().finding == delay.finding,
                      [&on = selecting_, finding = delay.finding] {
                        if (finding) on.select_finding(*finding);
                      }});
  }

  void add(const NotableRank& first, size_t ranks) {
    std::string name;
    if (ranks > 1) {
      name = say("{}: {} ranks, rank {}", host_of(first), ranks, first.rank);
    } else {
      name = model_.report.run.hosts > 1 ? say("rank {}  {}", first.rank, host_of(first))
                                         : say("rank {}", first.rank);
    }
    chips_.push_back({std::string(title_of(first.reason)), std::move(name), figure_of(first),
                      first.reason == RankReason::kCulprit,
                      selecting_.selection().has_rank(first.rank),
                      [&on = selecting_, rank = first.rank] { on.select_rank(rank); }});
  }

  const Model& model_;
  Selecting& selecting_;
  std::vector<Chip> chips_;
};

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
  for (Chip& chip : Chips(model, selecting).make()) {
    int wide = 2 * kNotablePadding + measure.width(chip.title, Font::kSmall) + kNotableGap +
               measure.width(chip.name, Font::kBold);
    if (!chip.figure.empty()) wide += kNotableGap + measure.width(chip.figure, Font::kSmall);
    if (x + wide > width - kNotableMargin) break;
    const Box box{x, kNotableTop, wide, kNotableHeight};
    const auto role = [&](Role guilty, Role chosen, Role other) {
      return chip.guilty ? guilty : (chip.chosen ? chosen : other);
    };
    list.rect(box, role(Role::kProblemSoft, Role::kAccentSoft, Role::kCard), {}, 0, 6);
    list.frame(box, role(Role::kProblem, Role::kAccent, Role::kBorder), 6);
    x += kNotablePadding;
    text(chip.title, {.role = chip.guilty ? Role::kProblem : Role::kTextDim, .font = Font::kSmall});
    text(chip.name, {.role = chip.guilty ? Role::kProblem : Role::kText, .font = Font::kBold});
    if (!chip.figure.empty()) text(chip.figure, {.font = Font::kSmall});
    x = box.x + wide + kNotableGap;
    panel.links.push_back({box, std::move(chip.follow), /*shows=*/true});
  }
  return panel;
}

}  // namespace dprof::view
