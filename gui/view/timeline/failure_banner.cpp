// SPDX-License-Identifier: Apache-2.0
#include "gui/view/timeline/failure_banner.h"

#include <algorithm>

#include "analyzer/hang/last_words.h"
#include "analyzer/render/layout.h"
#include "analyzer/render/sections.h"
#include "gui/view/drawing/texts.h"
#include "gui/view/session/landmarks.h"

namespace dprof::view {
namespace {

constexpr int kBannerMargin = 16;
constexpr int kStripe = 5;
constexpr int kBannerGap = 22;
constexpr int kBannerLine = 20;

struct Banner {
  std::string what;
  std::vector<int> first;    // ranks
  std::vector<int> waiting;  // for those
  std::string how;
};

Banner banner_of(const analyzer::Report& report) {
  Banner banner;
  if (const std::optional<analyzer::Hang>& hang = report.hang) {
    banner = {say("Hang: {}", analyzer::printable(analyzer::words_of_call(*hang))), hang->culprits,
              hang->waiting, analyzer::hang_sentence(*hang)};
  }
  if (report.ending && report.ending->verdict.kind != "ok") {
    const analyzer::EndVerdict& verdict = report.ending->verdict;
    std::string kind = verdict.kind;
    std::ranges::replace(kind, '_', ' ');
    banner.what = say("Failed: {}", kind);
    banner.first = verdict.ranks;
    banner.how = verdict.title;
  }
  return banner;
}

}  // namespace

Panel draw_failure_banner(const Model& model, Selecting& selecting, int width,
                          const TextMeasure& measure) {
  Panel panel;
  if (!has_failed(model)) return panel;
  const Banner banner = banner_of(model.report);
  DrawList& list = panel.list;
  panel.height = kFailureBannerHeight;
  list.rect({0, 0, width, kFailureBannerHeight}, Role::kProblemSoft);
  list.rect({0, 0, kStripe, kFailureBannerHeight}, Role::kProblem);
  list.line({0, kFailureBannerHeight - 1}, {width, kFailureBannerHeight - 1}, Role::kBorder);
  const int top = (kFailureBannerHeight - 2 * kBannerLine) / 2;
  int x = kBannerMargin;
  const auto add = [&](const std::string& text, TextStyle style) {
    const std::string shown = elided(text, width - kBannerMargin - x, style.font, measure);
    const int wide = measure.width(shown, style.font) + 2;
    list.text({x, top, wide, kBannerLine}, shown, style);
    x += wide + kBannerGap;
  };
  add(banner.what, {.role = Role::kProblem, .font = Font::kTitle});
  if (!banner.first.empty()) {
    add(say_count(banner.first.size(), "culprit: rank {}", "culprits: ranks {}",
                  analyzer::rank_list(banner.first)),
        {.font = Font::kBold});
  }
  if (!banner.waiting.empty()) {
    add(say_count(banner.waiting.size(), "waiting: rank {}", "waiting: ranks {}",
                  analyzer::rank_list(banner.waiting)),
        {.role = Role::kTextDim, .font = Font::kBold});
  }
  const int room = width - 2 * kBannerMargin;
  list.text({kBannerMargin, top + kBannerLine, room, kBannerLine},
            elided(analyzer::printable(banner.how), room, Font::kBody, measure),
            {.role = Role::kTextDim});
  panel.links.push_back({{0, 0, width, kFailureBannerHeight},
                         [&selecting] { selecting.select_failure(); },
                         /*shows=*/true});
  return panel;
}

}  // namespace dprof::view
