// SPDX-License-Identifier: Apache-2.0
#include "gui/view/pages/draw_page.h"

#include "gui/view/pages/collectives_page.h"
#include "gui/view/pages/compare_page.h"
#include "gui/view/pages/matrix_page.h"
#include "gui/view/pages/memory_page.h"
#include "gui/view/pages/overview_page.h"
#include "gui/view/pages/what_if_page.h"

namespace dprof::view {

Panel draw_page(const Session& session, Page page, PageSize size, int top,
                const TextMeasure& measure) {
  if (!session.is_open() || page != session.page()) return {};
  switch (page) {
    case Page::kOverview:
      return draw_overview_page(session, size.width, size.height, measure);
    case Page::kCollectives:
      return draw_collectives(session, size.width, size.height, top, measure);
    case Page::kMatrix:
      return draw_matrix_page(session, size.width, size.height, top, measure);
    case Page::kMemory:
      return draw_memory_page(session, size.width, size.height, top, measure);
    case Page::kCompare:
      return draw_compare_page(session, size.width, size.height, top, measure);
    case Page::kWhatIf:
      return draw_what_if_page(session, size.width, size.height, top, measure);
    case Page::kTimeline:
    case Page::kHeatmap:
      break;
  }
  return {};
}

}  // namespace dprof::view
