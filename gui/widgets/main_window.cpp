// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/main_window.h"

#include <fmt/format.h>

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include "gui/view/hang_banner.h"
#include "gui/view/overview.h"
#include "gui/view/pages/collectives_page.h"
#include "gui/view/pages/compare_page.h"
#include "gui/view/pages/matrix_page.h"
#include "gui/view/pages/memory_page.h"
#include "gui/view/pages/overview_page.h"
#include "gui/view/result_track.h"
#include "gui/view/state_dump.h"
#include "gui/view/texts.h"
#include "gui/view/timeline_view.h"

namespace dprof::widgets {
namespace {

constexpr int kTopHeight = 45;
constexpr int kTopMargin = 8;
constexpr int kStatusHeight = 25;
constexpr int kLeftWidth = 240;
constexpr int kNarrowLeftWidth = 200;
constexpr int kNarrow = 1500;

QVBoxLayout* column(QWidget* parent) {
  auto* layout = new QVBoxLayout(parent);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  return layout;
}

}  // namespace

MainWindow::MainWindow(Look& look, QWidget* parent) : QMainWindow(parent), look_(look) {
  setWindowTitle(QStringLiteral("dprof"));
  setAcceptDrops(true);
  setStyleSheet(look_.style_sheet());
  setFont(look_.font(view::Font::kBody));
  build();
  add_actions();
  connect(&worker_, &Worker::progressed, this, [this](const QString& stage, double share) {
    stage_ = stage;
    share_ = share;
    message_->refresh();
    status_->refresh();
  });
  connect(&worker_, &Worker::opened, this, [this](std::shared_ptr<const view::Model> model) {
    if (renewing_) {
      renew_model(std::move(model));
    } else {
      open_model(std::move(model));
    }
  });
  connect(
      &worker_, &Worker::events_loaded, this,
      [this](const std::shared_ptr<const view::Model>& run, size_t rank_index,
             const Result<view::SharedEvents>& events) { take_events(*run, rank_index, events); });
  connect(&watch_, &RunWatch::changed, this, &MainWindow::run_changed);
  connect(&worker_, &Worker::failed, this, [this](const Error& error) {
    loading_events_ = false;
    if (renewing_) {  // what is open stays
      renewing_ = false;
      stage_.clear();
      set_message(to_qstring(error.what));
      return;
    }
    error_ = error;
    stage_.clear();
    refresh();
    emit settled();
  });
  connect(&worker_, &Worker::described, docks_, &Docks::describe);
  connect(&worker_, &Worker::related, this,
          [this](const view::SlicePlace& place, const std::vector<analyzer::RelatedRow>& rows) {
            session_.show_flow(place, rows);
            refresh();
          });
  connect(&worker_, &Worker::compared, this,
          [this](const std::shared_ptr<const view::ComparedRuns>& runs) {
            session_.show_comparison(runs);
            stage_.clear();
            refresh();
          });
  connect(&worker_, &Worker::compare_failed, this, [this](const Error& error) {
    compare_error_ = error;
    stage_.clear();
    set_message(to_qstring(error.what));
  });
  connect(docks_, &Docks::drawn, this, &MainWindow::count_next);
  connect(&worker_, &Worker::counted, this, [this](const auto& take) {
    take(session_);
    docks_->refresh();
    canvas_->update_overlay();
    count_next();
  });
  connect(&worker_, &Worker::idle, this, [this] { status_->refresh(); });
  connect_sql();
}

void MainWindow::build() {
  auto* all = new QWidget(this);
  auto* rows = column(all);
  rows->addWidget(build_top());
  rows->addWidget(build_hang());
  columns_ = new QSplitter(Qt::Horizontal);
  columns_->setHandleWidth(1);
  columns_->setChildrenCollapsible(false);
  columns_->addWidget(build_left());
  columns_->addWidget(build_centre());
  columns_->setStretchFactor(0, 0);
  columns_->setStretchFactor(1, 1);
  connect(columns_, &QSplitter::splitterMoved, this, [this] { moved_by_hand_ = true; });
  all_of_run_ = new QStackedWidget(all);
  all_of_run_->addWidget(columns_);
  all_of_run_->addWidget(build_message());
  all_of_run_->setCurrentWidget(message_);
  rows->addWidget(all_of_run_, 1);
  status_ = new Pane(look_, [this](int width, int height) {
    std::string pending = message_text_.toStdString();
    if (!sql_stage_.isEmpty()) pending = sql_stage_.toStdString() + "…";
    if (!stage_.isEmpty()) pending = stage_.toStdString() + "…";
    return view::draw_status_bar(session_, pending, width, height, look_.measure());
  });
  status_->setFixedHeight(kStatusHeight);
  rows->addWidget(status_);
  setCentralWidget(all);
}

QWidget* MainWindow::build_top() {
  top_ = new Pane(look_, [this](int width, int height) {
    const int room = session_.is_open() ? page_tabs_->x() : width;
    return view::draw_top_bar(session_, width, height, room, look_.measure());
  });
  top_->setFixedHeight(kTopHeight);
  auto* layout = new QHBoxLayout(top_);
  layout->setContentsMargins(0, kTopMargin, 12, kTopMargin + 1);
  layout->addStretch(1);
  page_tabs_ = make_tabs(look_);
  for (const view::PageInfo& page : view::kPages)
    page_tabs_->addTab(to_qstring(view::translated(page.title)));
  page_tabs_->setFont(look_.font(view::Font::kBody));
  page_tabs_->setFixedHeight(kTopHeight - kTopMargin - 1);  // the line below them stays in view
  connect(page_tabs_, &QTabBar::currentChanged, this,
          [this](int page) { show_page(static_cast<view::Page>(page)); });
  layout->addWidget(page_tabs_);
  layout->addStretch(1);
  build_go_to();
  layout->addWidget(go_to_);
  return top_;
}

QWidget* MainWindow::build_hang() {
  hang_ = new ScrollPane(look_, [this](int width, int, int) {
    return view::draw_hang_banner(session_, width, look_.measure());
  });
  hang_->setFixedHeight(view::kHangBannerHeight);
  hang_->setObjectName(QStringLiteral("hang"));
  hang_->setAccessibleName(tr("Hang"));
  hang_->hide();
  connect(hang_, &ScrollPane::followed, this, &MainWindow::follow);
  return hang_;
}

QWidget* MainWindow::build_left() {
  auto* left = new QWidget;
  auto* rows = column(left);
  auto* head = new Pane(look_, [this](int width, int height) {
    view::DrawList list;
    list.rect({0, 0, width, height}, view::Role::kWindow);
    list.text({14, 4, width, 22}, view::say("TRACKS"),
              {.role = view::Role::kTextDim, .font = view::Font::kHeading});
    return list;
  });
  // As high as time bar and header, so that tracks and rows line up.
  head->setFixedHeight(view::kOverviewHeight + view::kHeaderHeight);
  filter_ = new QLineEdit(head);
  filter_->setObjectName(QStringLiteral("filter"));
  filter_->setPlaceholderText(tr("filter by rank, host, thread"));
  filter_->setFont(look_.font(view::Font::kSmall));
  filter_->setGeometry(12, 34, kLeftWidth - 24, 26);
  filter_->setAccessibleName(tr("Filter tracks"));
  connect(filter_, &QLineEdit::textChanged, this, [this](const QString& text) {
    if (!session_.is_open()) return;
    session_.set_filter(text.trimmed().toStdString());
    refresh();
  });
  rows->addWidget(head);
  tracks_ = new Tracks(session_, look_);
  connect(tracks_, &Tracks::changed, this, &MainWindow::refresh);
  connect(tracks_, &Tracks::menu_wanted, this, &MainWindow::show_menu_at);
  rows->addWidget(tracks_, 1);
  left->setMinimumWidth(160);
  return left;
}

QWidget* MainWindow::build_centre() {
  auto* upper = new QWidget;
  auto* rows = column(upper);
  overview_ = new Overview(session_, look_);
  canvas_ = new Canvas(session_, look_);
  connect(overview_, &Overview::changed, this, &MainWindow::refresh);
  connect(canvas_, &Canvas::changed, this, &MainWindow::refresh);
  connect(canvas_, &Canvas::menu_wanted, this, &MainWindow::show_menu_at);
  connect(canvas_, &Canvas::hover_changed, canvas_, &Pane::update_overlay);
  rows->addWidget(overview_);
  rows->addWidget(canvas_, 1);
  heatmap_ = new HeatmapPane(session_, look_);
  connect(heatmap_, &HeatmapPane::changed, this, &MainWindow::refresh);
  connect(heatmap_, &HeatmapPane::wants_timeline, this,
          [this] { show_page(view::Page::kTimeline); });
  pages_ = new QStackedWidget;  // in the order of view::Page
  build_pages();
  pages_->insertWidget(static_cast<int>(view::Page::kTimeline), upper);
  pages_->insertWidget(static_cast<int>(view::Page::kHeatmap), heatmap_);

  docks_ = new Docks(session_, look_, pages_);
  connect(docks_, &Docks::changed, this, &MainWindow::refresh);
  connect(docks_, &Docks::followed, this, &MainWindow::follow);
  return docks_;
}

QWidget* MainWindow::build_message() {
  message_ = new Pane(look_, [this](int width, int height) {
    if (error_) {
      return view::draw_message(error_->what, error_->hint, std::nullopt, width, height,
                                look_.measure());
    }
    if (stage_.isEmpty()) {
      return view::draw_message(
          view::say("No run is open"),
          view::say("drop one here, or record one: dprof record -n 2 -- ./train"), std::nullopt,
          width, height, look_.measure());
    }
    return view::draw_message(view::say("Opening the run"), stage_.toStdString(), share_, width,
                              height, look_.measure());
  });
  build_recent();
  return message_;
}

void MainWindow::build_pages() {
  for (const view::Page page : {view::Page::kOverview, view::Page::kCollectives,
                                view::Page::kMatrix, view::Page::kMemory, view::Page::kCompare}) {
    auto* pane = new ScrollPane(
        look_,
        [this, page](int width, int height, int top) {
          return draw_page(page, width, height, top);
        },
        ScrollPane::Drawn::kInView);
    pane->setAccessibleName(to_qstring(view::translated(view::info_of(page).title)));
    connect(pane, &ScrollPane::followed, this, &MainWindow::follow);
    page_panes_[static_cast<size_t>(page)] = pane;
    pages_->addWidget(pane);
  }
}

view::Panel MainWindow::draw_page(view::Page page, int width, int height, int top) const {
  if (!session_.is_open() || page != session_.page()) return {};
  const view::TextMeasure& measure = look_.measure();
  switch (page) {
    case view::Page::kOverview:
      return view::draw_overview_page(session_, width, height, measure);
    case view::Page::kCollectives:
      return view::draw_collectives(session_, width, height, top, measure);
    case view::Page::kMatrix:
      return view::draw_matrix_page(session_, width, height, top, measure);
    case view::Page::kMemory:
      return view::draw_memory_page(session_, width, height, top, measure);
    case view::Page::kCompare:
      return view::draw_compare_page(session_, width, height, top, measure);
    case view::Page::kTimeline:
    case view::Page::kHeatmap:
      break;
  }
  return {};
}

void MainWindow::follow(const view::Link& link, bool twice) {
  link.follow(session_);
  refresh();
  if (twice && link.shows) show_page(view::Page::kTimeline);
}

void MainWindow::resizeEvent(QResizeEvent* event) {
  QMainWindow::resizeEvent(event);
  arrange();
}

// The sizes of the picture in the design, until the user has moved something.
void MainWindow::arrange() {
  const int left = width() < kNarrow ? kNarrowLeftWidth : kLeftWidth;
  filter_->setGeometry(12, 34, left - 24, 26);
  if (!moved_by_hand_) columns_->setSizes({left, width() - left - 1});
  docks_->arrange(size());
}

void MainWindow::show_model(std::shared_ptr<const view::Model> model) {
  error_.reset();
  stage_.clear();
  sql_worker_.cancel_ask();
  sql_stage_.clear();
  session_ = view::Session();
  session_.defer_counting();
  settling_ = false;
  loads_events_ = false;
  loading_events_ = false;
  missing_events_ = 0;
  failed_events_.clear();
  all_of_run_->setCurrentWidget(columns_);
  session_.set_viewport(canvas_->width(), canvas_->height() - view::kHeaderHeight);
  session_.open(std::move(model));
  watch_.watch(session_.model().run);
  recall_view();
  // untranslated: a name
  setWindowTitle(to_qstring(session_.model().run.name) + QStringLiteral(" – dprof"));
  canvas_->setFocus();
  refresh();
}

Status MainWindow::select(const std::string& selector, bool keep) {
  const Status selected = session_.select(selector, keep);
  if (selected.ok()) refresh();
  return selected;
}

void MainWindow::show_page(view::Page page) {
  if (!session_.is_open() || page == session_.page()) return;
  session_.show_page(page);
  refresh();
  if (page == view::Page::kTimeline) canvas_->setFocus();
}

// The page, and the tracks beside the timeline only.
void MainWindow::place_page() {
  page_tabs_->setVisible(session_.is_open());
  hang_->setVisible(session_.is_open() && session_.model().report.hang);
  hang_->refresh();
  if (!session_.is_open()) return;
  const auto page = static_cast<int>(session_.page());
  const QSignalBlocker quiet(page_tabs_);
  page_tabs_->setCurrentIndex(page);
  pages_->setCurrentIndex(page);
  place_tracks();
}

void MainWindow::place_tracks() {
  // It may come from a kept view, or from the history.
  const QString filter = to_qstring(session_.arrangement().filter);
  if (filter_->text().trimmed() != filter) {
    const QSignalBlocker quiet(filter_);
    filter_->setText(filter);
  }
  columns_->widget(0)->setVisible(session_.page() == view::Page::kTimeline && !tracks_closed_);
}

void MainWindow::refresh() {
  place_page();
  save_view_soon();
  all_of_run_->setCurrentWidget(session_.is_open() ? static_cast<QWidget*>(columns_) : message_);
  place_recent();
  if (session_.is_open()) describe_selection();
  for (Pane* pane :
       {top_, static_cast<Pane*>(tracks_), static_cast<Pane*>(overview_),
        static_cast<Pane*>(canvas_), static_cast<Pane*>(heatmap_), message_, status_}) {
    pane->refresh();
  }
  docks_->refresh();
  // Of the pages only the one that is shown: a frame of the timeline pays for no other.
  if (ScrollPane* page = page_panes_[static_cast<size_t>(session_.page())]) page->refresh();
  count_next();
  load_events();
}

// What docks and timeline need to know, and no frame has time for.
void MainWindow::count_next() {
  if (!session_.is_open()) return;
  if (session_.page() == view::Page::kTimeline) (void)session_.named_marks();
  if (std::optional<view::Session::Count> job = session_.next_count())
    worker_.count(*std::move(job));
}

void MainWindow::describe_selection() {
  const std::optional<view::SlicePlace>& place = session_.selection().slice;
  if (place == described_) return;
  described_ = place;
  docks_->describe({});
  worker_.forget_description();
  if (!place) return;
  const view::Model& model = session_.model();
  if (const auto line = view::result_line_of(model, *place)) {
    docks_->describe(view::fields_of_line(*line));
    docks_->offer(view::Dock::kDetails);
    return;
  }
  const view::RankModel& rank = view::rank_of(model, *place);
  for (const analyzer::TraceFile& trace : model.run.traces) {
    if (trace.rank != rank.rank) continue;
    const std::string& table = view::thread_of(model, *place).table;
    const int64_t row = view::lane_of(model, *place).row[place->slice];
    worker_.describe(trace, rank.clock, table, row);
    const std::vector<view::SlicePlace> flow = session_.flow();
    if (flow.empty()) worker_.relate(trace, *place, table, row);
  }
  docks_->offer(view::Dock::kDetails);
}

view::DrawList MainWindow::draw_list() const {
  view::DrawList list;
  if (!session_.is_open()) return list;
  if (session_.page() == view::Page::kHeatmap) {
    return view::draw_heatmap(session_, heatmap_->width(), heatmap_->height(), look_.measure())
        .list;
  }
  if (const ScrollPane* page = page_panes_[static_cast<size_t>(session_.page())]) {
    return draw_page(session_.page(), page->viewport()->width(), page->viewport()->height(),
                     page->verticalScrollBar()->value())
        .list;
  }
  const int width = canvas_->width();
  const int height = canvas_->height() - view::kHeaderHeight;
  list.append(view::draw_header(session_, width, look_.measure()));
  list.append(view::draw_rows(session_, width, height, look_.measure()), {0, view::kHeaderHeight});
  list.append(view::draw_overlay(session_, width, height, look_.measure()),
              {0, view::kHeaderHeight});
  return list;
}

std::string MainWindow::state() const {
  std::vector<std::string> messages;
  if (!message_text_.isEmpty()) messages.push_back(message_text_.toStdString());
  return view::dump_state(session_, pending(), messages);
}

void MainWindow::set_message(const QString& text) {
  message_text_ = text;
  status_->refresh();
}

}  // namespace dprof::widgets
