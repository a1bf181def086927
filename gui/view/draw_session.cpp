// SPDX-License-Identifier: Apache-2.0
#include "gui/view/draw_session.h"

#include "gui/view/docks/flame_dock.h"
#include "gui/view/docks/histogram_dock.h"
#include "gui/view/docks/info_dock.h"
#include "gui/view/docks/path_dock.h"
#include "gui/view/docks/selection_table.h"
#include "gui/view/docks/sql_dock.h"
#include "gui/view/docks/table_dock.h"
#include "gui/view/pages/collectives_page.h"
#include "gui/view/pages/compare_page.h"
#include "gui/view/pages/matrix_page.h"
#include "gui/view/pages/memory_page.h"
#include "gui/view/pages/overview_page.h"
#include "gui/view/pages/topology_page.h"
#include "gui/view/pages/what_if_page.h"
#include "gui/view/panels.h"
#include "gui/view/timeline/timeline_view.h"

namespace dprof::view {

Panel draw_page(Session& session, Page page, PanelSize size, int top, const TextMeasure& measure) {
  const Model& model = session.model();
  Selecting& selecting = session.selecting;
  const auto [width, height] = size;
  switch (page) {
    case Page::kOverview:
      return draw_overview_page(model, selecting, width, height, measure);
    case Page::kCollectives:
      return draw_collectives(model, session.collectives, selecting, width, height, top, measure);
    case Page::kMatrix:
      return draw_matrix_page(model, session.pairs, selecting.selection(), width, height, top,
                              measure);
    case Page::kMemory:
      return draw_memory_page(model, session.viewport, selecting, width, height, top, measure);
    case Page::kCompare:
      return draw_compare_page(model, session.compared.get(), selecting, width, height, top,
                               measure);
    case Page::kWhatIf:
      return draw_what_if_page(model, session.what_if, width, height, top, measure);
    case Page::kTopology:
      return draw_topology_page(model, session.grid, selecting, width, height, measure);
    case Page::kTimeline:
    case Page::kHeatmap:
      break;
  }
  return {};
}

Panel draw_dock(Session& session, Dock dock, PanelSize size, int top, const Fields& fields,
                const TextMeasure& measure) {
  const Model& model = session.model();
  Selecting& selecting = session.selecting;
  EventFigures& events = session.events;
  const auto [width, height] = size;
  switch (dock) {
    case Dock::kSelection:
      return draw_selection_table(model, selecting, width, height, measure);
    case Dock::kTable:
      return draw_table_dock(model, events, selecting, width, height, top, measure);
    case Dock::kFlame:
      return draw_flame_dock(model, events, selecting, width, height, measure);
    case Dock::kHistogram:
      return draw_histogram_dock(model, events, selecting, width, height, measure);
    case Dock::kSql:
      return draw_sql_dock(session.sql, session.sql_results, selecting.selection(), width, height,
                           top, measure);
    case Dock::kDiagnostics:
      return draw_diagnostics(model, width, height, measure);
    case Dock::kInfo:
      return draw_info_dock(model, session.notes, width, height, measure);
    case Dock::kFindings:
      return draw_findings(model, selecting, width, height, measure);
    case Dock::kDetails:
      return draw_details(model, selecting, session.flow, fields, width, height, measure);
    case Dock::kPath:
      return draw_path_dock(model, session.path, selecting, width, height, measure);
  }
  return {};
}

RowsArea rows_area(const Session& session) {
  return {session.model(), session.tracks, session.viewport.scale()};
}

DrawList draw_header(const Session& session, int width, const TextMeasure& measure) {
  return draw_header(session.model(), session.viewport.scale(), session.selecting.selection(),
                     session.notes.all(), width, measure);
}

DrawList draw_rows(const Session& session, int width, int height, const TextMeasure& measure) {
  return draw_rows(rows_area(session), session.selecting.selection(), session.path.shown(), width,
                   height, measure);
}

DrawList draw_overlay(const Session& session, int width, int height, const TextMeasure& measure) {
  return draw_overlay(rows_area(session),
                      {.selection = session.selecting.selection(),
                       .flow = session.flow,
                       .marks = session.events.marks(),
                       .path = session.path.shown(),
                       .measured = session.viewport.measured()},
                      width, height, measure);
}

DrawList draw_tracks(const Session& session, int width, int height, const TextMeasure& measure) {
  return draw_tracks(session.model(), session.tracks, session.selecting.selection(), width, height,
                     measure);
}

}  // namespace dprof::view
