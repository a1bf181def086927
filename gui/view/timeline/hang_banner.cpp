// SPDX-License-Identifier: Apache-2.0
#include "gui/view/timeline/hang_banner.h"

#include "analyzer/hang/last_words.h"
#include "analyzer/render/layout.h"
#include "analyzer/render/sections.h"
#include "gui/view/drawing/texts.h"

namespace dprof::view {
namespace {

constexpr int kBannerMargin = 16;
constexpr int kStripe = 5;
constexpr int kBannerGap = 22;
constexpr int kBannerLine = 20;

}  // namespace

Panel draw_hang_banner(const Model& model, Selecting& selecting, int width,
                       const TextMeasure& measure) {
  Panel panel;
  if (!model.report.hang) return panel;
  const analyzer::Hang& hang = *model.report.hang;
  DrawList& list = panel.list;
  panel.height = kHangBannerHeight;
  list.rect({0, 0, width, kHangBannerHeight}, Role::kProblemSoft);
  list.rect({0, 0, kStripe, kHangBannerHeight}, Role::kProblem);
  list.line({0, kHangBannerHeight - 1}, {width, kHangBannerHeight - 1}, Role::kBorder);
  const int top = (kHangBannerHeight - 2 * kBannerLine) / 2;
  int x = kBannerMargin;
  const auto add = [&](const std::string& text, TextStyle style) {
    const std::string shown = elided(text, width - kBannerMargin - x, style.font, measure);
    const int wide = measure.width(shown, style.font) + 2;
    list.text({x, top, wide, kBannerLine}, shown, style);
    x += wide + kBannerGap;
  };
  add(say("Hang: {}", analyzer::printable(analyzer::words_of_call(hang))),
      {.role = Role::kProblem, .font = Font::kTitle});
  if (!hang.culprits.empty()) {
    add(say_count(hang.culprits.size(), "culprit: rank {}", "culprits: ranks {}",
                  analyzer::rank_list(hang.culprits)),
        {.font = Font::kBold});
  }
  if (!hang.waiting.empty()) {
    add(say_count(hang.waiting.size(), "waiting: rank {}", "waiting: ranks {}",
                  analyzer::rank_list(hang.waiting)),
        {.role = Role::kTextDim, .font = Font::kBold});
  }
  const int room = width - 2 * kBannerMargin;
  list.text({kBannerMargin, top + kBannerLine, room, kBannerLine},
            elided(analyzer::printable(analyzer::hang_sentence(hang)), room, Font::kBody, measure),
            {.role = Role::kTextDim});
  panel.links.push_back({{0, 0, width, kHangBannerHeight},
                         [&selecting] { selecting.select_hang(); },
                         /*shows=*/true});
  return panel;
}

}  // namespace dprof::view
