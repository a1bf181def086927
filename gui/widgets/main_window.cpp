// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/main_window.h"

#include <fmt/format.h>

#include <QApplication>
#include <QClipboard>
#include <QCloseEvent>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QMenu>
#include <QMimeData>
#include <QScrollBar>
#include <QSettings>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include "gui/view/draw_session.h"
#include "gui/view/drawing/texts.h"
#include "gui/view/figures/notable_ranks.h"
#include "gui/view/model/names.h"
#include "gui/view/model/result_track.h"
#include "gui/view/session/landmarks.h"
#include "gui/view/state_dump.h"
#include "gui/view/timeline/failure_banner.h"
#include "gui/view/timeline/notable_strip.h"
#include "gui/view/timeline/overview.h"
#include "gui/view/timeline/timeline_view.h"
#include "gui/widgets/export_dialog.h"
#include "gui/widgets/recent_runs.h"
#include "gui/widgets/sql_pane.h"

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

constexpr int kVersion = 2;  // of what is remembered; another one is ignored

constexpr auto kVersionKey = "window/version";
constexpr auto kGeometryKey = "window/geometry";
constexpr auto kColumnsKey = "window/columns";
constexpr auto kDocksKey = "window/docks";
constexpr auto kTracksClosedKey = "window/tracks_closed";

std::vector<std::filesystem::path> files_in(const QMimeData& data) {
  std::vector<std::filesystem::path> files;
  const QList<QUrl> urls = data.urls();
  for (const QUrl& url : urls) {
    if (url.isLocalFile()) files.emplace_back(url.toLocalFile().toStdString());
  }
  return files;
}

}  // namespace

MainWindow::MainWindow(Look& look, QWidget* parent) : QMainWindow(parent), look_(look) {
  setWindowTitle(QStringLiteral("dprof"));
  setAcceptDrops(true);
  setStyleSheet(look_.style_sheet());
  setFont(look_.font(view::Font::kBody));
  build();
  connect_opening();
  connect(&events_, &EventLoader::loading, this, [this](const QString& stage) {
    stage_ = stage;
    status_->refresh();
    emit progressed();
  });
  connect(&events_, &EventLoader::remarked, this, &MainWindow::set_message);
  connect(&events_, &EventLoader::changed, this, &MainWindow::refresh);
  connect(&events_, &EventLoader::settled, this, &MainWindow::settle);
  connect(&views_, &ViewKeeper::remarked, this, &MainWindow::set_message);
  connect(&keys_, &KeyBindings::remarked, this, &MainWindow::set_message);
  connect_commands();
  connect(&watch_, &RunWatch::changed, this, &MainWindow::run_changed);
  connect(&worker_, &Worker::described, docks_, &Docks::describe);
  connect(&worker_, &Worker::related, this,
          [this](const view::SlicePlace& place, const std::vector<analyzer::RelatedRow>& rows) {
            session_.take_flow(place, rows);
            refresh();
          });
  connect(&worker_, &Worker::compared, this,
          [this](const std::shared_ptr<const view::ComparedRuns>& runs) {
            session_.compared = runs;
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
    take(session_.counted);
    emit progressed();
    docks_->refresh();
    if (session_.is_open() && session_.viewport.page() == view::Page::kWhatIf)
      page_pane(view::Page::kWhatIf).refresh();
    canvas_->update_overlay();
    count_next();
  });
  connect(&worker_, &Worker::idle, this, [this] { status_->refresh(); });
  connect_sql();
}

void MainWindow::connect_opening() {
  connect(&worker_, &Worker::found, opening_, &OpeningPane::show_run);
  connect(&worker_, &Worker::looked, this, [this](const analyzer::FirstLook& look) {
    opening_->show_first(look);
    emit progressed();
  });
  connect(&worker_, &Worker::progressed, this, [this](const QString& stage, double share) {
    stage_ = stage;
    if (opening_->show_progress(stage, share)) emit progressed();
    status_->refresh();
  });
  connect(&worker_, &Worker::opened, this, [this](std::shared_ptr<const view::Model> model) {
    if (renewing_) {
      renew_model(std::move(model));
    } else {
      open_model(std::move(model));
    }
  });
  connect(&worker_, &Worker::failed, this, [this](const Error& error) {
    stage_.clear();
    if (renewing_) {  // what is open stays
      set_renewing(false);
      set_message(to_qstring(error.what));
      return;
    }
    opening_->fail(error);
    refresh();
    emit settled();
  });
  connect(&opening_->recent(), &RecentList::chosen, this,
          [this](const RunPaths& run) { open(run); });
}

void MainWindow::connect_commands() {
  commands_ = new Commands({.canvas = *canvas_,
                            .tracks = *tracks_,
                            .filter = *filter_,
                            .docks = *docks_,
                            .go_to = *go_to_,
                            .asking = asking_,
                            .keys = keys_},
                           session_, look_, *this);
  connect(commands_, &Commands::changed, this, &MainWindow::refresh);
  connect(commands_, &Commands::remarked, this, &MainWindow::set_message);
  connect(commands_, &Commands::open_wanted, this, &MainWindow::choose_run);
  connect(commands_, &Commands::recent_wanted, this, &MainWindow::choose_recent);
  connect(commands_, &Commands::export_wanted, this, &MainWindow::show_export);
  connect(commands_, &Commands::read_again_wanted, this, &MainWindow::read_again);
  connect(commands_, &Commands::layout_reset, this, &MainWindow::reset_layout);
  connect(commands_, &Commands::tracks_toggled, this, [this] { tracks_closed_ = !tracks_closed_; });
  connect(commands_, &Commands::focus_moved, this, &MainWindow::focus_pane);
}

void MainWindow::keyPressEvent(QKeyEvent* event) {
  if (!commands_->follow(*event)) QMainWindow::keyPressEvent(event);
}

// The buttons at the side of a mouse, on every page.
void MainWindow::mousePressEvent(QMouseEvent* event) {
  const bool back = event->button() == Qt::BackButton;
  if (!session_.is_open() || (!back && event->button() != Qt::ForwardButton)) return;
  if (back) {
    session_.viewport.back();
  } else {
    session_.viewport.forward();
  }
  refresh();
}

void MainWindow::build() {
  auto* all = new QWidget(this);
  auto* rows = column(all);
  rows->addWidget(build_top());
  failure_ =
      build_strip(&view::draw_failure_banner, view::kFailureBannerHeight, "failure", tr("Failure"));
  notable_ = build_strip(&view::draw_notable_strip, view::kNotableStripHeight, "notable",
                         tr("Ranks worth a look"));
  rows->addWidget(failure_);
  rows->addWidget(notable_);
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
  opening_ = new OpeningPane(look_);
  all_of_run_->addWidget(opening_);
  all_of_run_->setCurrentWidget(opening_);
  rows->addWidget(all_of_run_, 1);
  status_ = new Pane(look_, [this](int width, int height) {
    std::string pending = message_text_.toStdString();
    if (!asking_.stage().isEmpty()) pending = asking_.stage().toStdString() + "…";
    if (!stage_.isEmpty()) pending = stage_.toStdString() + "…";
    return view::draw_status_bar(session_.shared_model().get(), session_.viewport.range(),
                                 session_.tracks.layout(), pending, width, height, look_.measure());
  });
  status_->setFixedHeight(kStatusHeight);
  rows->addWidget(status_);
  setCentralWidget(all);
}

QWidget* MainWindow::build_top() {
  top_ = new Pane(look_, [this](int width, int height) {
    const int room = session_.is_open() ? page_tabs_->x() : width;
    return view::draw_top_bar(session_.shared_model().get(), width, height, room, look_.measure());
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

// Across all pages, hidden until a run has something for it.
ScrollPane* MainWindow::build_strip(StripPainter draw, int height, const char* name,
                                    const QString& title) {
  auto* strip = new ScrollPane(look_, [this, draw](int width, int, int) {
    if (!session_.is_open()) return view::Panel();
    return draw(session_.model(), session_.selecting, width, look_.measure());
  });
  strip->setFixedHeight(height);
  strip->setObjectName(QLatin1String(name));
  strip->setAccessibleName(title);
  strip->hide();
  connect(strip, &ScrollPane::followed, this, &MainWindow::follow);
  return strip;
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
    session_.viewport.set_filter(text.trimmed().toStdString());
    refresh();
  });
  rows->addWidget(head);
  tracks_ = new Tracks(session_, look_);
  connect(tracks_, &Tracks::changed, this, &MainWindow::refresh);
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

void MainWindow::build_pages() {
  for (const view::Page page :
       {view::Page::kOverview, view::Page::kCollectives, view::Page::kMatrix, view::Page::kMemory,
        view::Page::kCompare, view::Page::kWhatIf, view::Page::kTopology}) {
    auto* pane = new ScrollPane(
        look_,
        [this, page](int width, int height, int top) {
          if (!session_.is_open() || page != session_.viewport.page()) return view::Panel();
          return view::draw_page(session_, page, {width, height}, top, look_.measure());
        },
        ScrollPane::Drawn::kInView);
    pane->setAccessibleName(to_qstring(view::translated(view::info_of(page).title)));
    connect(pane, &ScrollPane::followed, this, &MainWindow::follow);
    page_panes_[static_cast<size_t>(page)] = pane;
    pages_->addWidget(pane);
  }
}

void MainWindow::follow(const view::Link& link, bool twice) {
  link.follow();
  if (const QString text = to_qstring(link.copies); !text.isEmpty()) {
    QApplication::clipboard()->setText(text);
    set_message(tr("copied: %1").arg(text));
  }
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
  opening_->end();
  stage_.clear();
  asking_.forget();
  session_.counted.defer();
  events_.forget();
  all_of_run_->setCurrentWidget(columns_);
  session_.viewport.resize(canvas_->width(), canvas_->height() - view::kHeaderHeight);
  session_.open(std::move(model));
  watch_.watch(session_.model().run);
  views_.recall(paths_);
  // untranslated: a name
  setWindowTitle(to_qstring(session_.model().run.name) + QStringLiteral(" – dprof"));
  canvas_->setFocus();
  refresh();
}

Status MainWindow::select(const std::string& selector, bool keep) {
  Status selected = session_.selecting.select(selector, keep);
  if (selected.ok()) refresh();
  return selected;
}

void MainWindow::show_page(view::Page page) {
  if (!session_.is_open() || page == session_.viewport.page()) return;
  session_.viewport.show_page(page);
  refresh();
  if (page == view::Page::kTimeline) canvas_->setFocus();
}

// The page, and the tracks beside the timeline only.
void MainWindow::place_page() {
  page_tabs_->setVisible(session_.is_open());
  failure_->setVisible(session_.is_open() && view::has_failed(session_.model()));
  failure_->refresh();
  notable_->setVisible(session_.is_open() && view::has_many_ranks(session_.model()));
  notable_->refresh();
  if (!session_.is_open()) return;
  const auto page = static_cast<int>(session_.viewport.page());
  const QSignalBlocker quiet(page_tabs_);
  page_tabs_->setCurrentIndex(page);
  pages_->setCurrentIndex(page);
  place_tracks();
}

void MainWindow::place_tracks() {
  // It may come from a kept view, or from the history.
  const QString filter = to_qstring(session_.tracks.arrangement().filter);
  if (filter_->text().trimmed() != filter) {
    const QSignalBlocker quiet(filter_);
    filter_->setText(filter);
  }
  columns_->widget(0)->setVisible(session_.viewport.page() == view::Page::kTimeline &&
                                  !tracks_closed_);
}

void MainWindow::refresh() {
  place_page();
  views_.save_soon();
  all_of_run_->setCurrentWidget(session_.is_open() ? static_cast<QWidget*>(columns_) : opening_);
  opening_->show_recent_where(!session_.is_open());
  if (session_.is_open()) describe_selection();
  for (Pane* pane : {top_, static_cast<Pane*>(tracks_), static_cast<Pane*>(overview_),
                     static_cast<Pane*>(canvas_), static_cast<Pane*>(heatmap_),
                     static_cast<Pane*>(opening_), status_}) {
    pane->refresh();
  }
  docks_->refresh();
  // Of the pages only the one that is shown: a frame of the timeline pays for no other.
  if (ScrollPane* page = page_panes_[static_cast<size_t>(session_.viewport.page())])
    page->refresh();
  count_next();
  events_.next();
}

// What docks and timeline need to know, and no frame has time for.
void MainWindow::count_next() {
  if (!session_.is_open()) return;
  if (session_.viewport.page() == view::Page::kTimeline) (void)session_.events.marks();
  if (std::optional<view::CountedFigures::Count> job = session_.counted.next_count())
    worker_.count(*std::move(job));
}

void MainWindow::describe_selection() {
  const std::optional<view::SlicePlace>& place = session_.selecting.selection().slice;
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
    const std::vector<view::SlicePlace> flow = session_.flow.places();
    if (flow.empty()) worker_.relate(trace, *place, table, row);
  }
  docks_->offer(view::Dock::kDetails);
}

view::DrawList MainWindow::draw_list() {
  view::DrawList list;
  if (!session_.is_open()) return list;
  if (session_.viewport.page() == view::Page::kHeatmap) {
    return view::draw_heatmap(session_.model(), session_.steps, session_.selecting.selection(),
                              heatmap_->width(), heatmap_->height(), look_.measure())
        .list;
  }
  if (const ScrollPane* page = page_panes_[static_cast<size_t>(session_.viewport.page())]) {
    return view::draw_page(session_, session_.viewport.page(),
                           {page->viewport()->width(), page->viewport()->height()},
                           page->verticalScrollBar()->value(), look_.measure())
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

// --- the field ---

void MainWindow::build_go_to() {
  go_to_ = new GoToField(look_, top_);
  const auto when_open = [this](auto run) {
    return [this, run](const auto&... what) {
      if (!session_.is_open()) return;
      set_message({});
      run(what...);
    };
  };
  connect(go_to_, &GoToField::search_wanted, this,
          when_open([this](const QString& text, bool back) {
            search(text.toStdString(), back ? -1 : 1);
          }));
  connect(go_to_, &GoToField::command_wanted, this,
          when_open([this](const QString& text) { run_command(text); }));
  connect(go_to_, &GoToField::statement_given, this,
          when_open([this](const QString& text) { run_sql(text.toStdString()); }));
  connect(go_to_, &GoToField::note_written, this,
          when_open([this](std::optional<Interval> at, const QString& text) {
            session_.notes.add(at.value_or(session_.selecting.range()), text.toStdString());
            canvas_->setFocus();
            refresh();
          }));
  connect(go_to_, &GoToField::selector_given, this,
          when_open([this](const QString& selector) { go_to(selector); }));
}

void MainWindow::go_to(const QString& selector) {
  if (Status selected = select(selector.toStdString(), false); selected.ok()) {
    go_to_->clear();
    canvas_->setFocus();
  } else {
    set_message(to_qstring(selected.error().what + ": " + selected.error().hint));
  }
}

// The field keeps the text, so that Enter goes on.
bool MainWindow::search(const std::string& text, int by) {
  if (text.empty()) return false;
  const std::string pattern = text.find('*') == std::string::npos ? "*" + text + "*" : text;
  const bool known = view::any_name_matches(session_.model(), pattern);
  const bool found = known && session_.walk.next_named(pattern, by);
  if (found) session_.selecting.select_name(pattern);
  refresh();
  const QString missing = to_qstring(view::without_events(session_.model()));
  if (!known) {
    set_message(tr("no event's name contains %1").arg(to_qstring(text)) + missing);
  } else if (!found) {
    set_message((by > 0 ? tr("no later event of that name") : tr("no earlier event of that name")) +
                missing);
  }
  return found;
}

void MainWindow::run_command(const QString& text) {
  const QList<QAction*> all = actions();
  for (QAction* action : all) {
    if (text.isEmpty() || !action->text().contains(text, Qt::CaseInsensitive)) continue;
    go_to_->clear();
    canvas_->setFocus();
    action->trigger();
    return;
  }
  set_message(tr("no command contains '%1'; ? lists them").arg(text));
}

// --- the dock SQL ---

void MainWindow::connect_sql() {
  connect(&docks_->sql(), &SqlPane::run_wanted, this, &MainWindow::ask_traces);
  connect(&docks_->sql(), &SqlPane::cancel_wanted, &asking_, &SqlAsking::cancel);
  connect(&asking_, &SqlAsking::progressed, this, [this] { status_->refresh(); });
  connect(&asking_, &SqlAsking::changed, this, &MainWindow::refresh);
}

void MainWindow::run_sql(const std::string& statement) {
  if (!session_.is_open()) return;
  session_.sql.write(statement);
  session_.dock = view::Dock::kSql;
  ask_traces();
}

void MainWindow::ask_traces() {
  if (!session_.is_open()) return;
  set_message({});
  asking_.ask();
}

// --- runs that are opened, and read again ---

void MainWindow::open(std::vector<std::filesystem::path> paths, analyzer::AnalysisOptions options) {
  views_.save();
  set_renewing(false);
  opening_->begin();
  stage_ = tr("opening");
  options.cache = true;  // opened again, it is there at once
  paths_ = paths;
  options_ = options;
  worker_.open(std::move(paths), std::move(options), {});
  refresh();
}

void MainWindow::compare_with(std::vector<std::filesystem::path> paths,
                              analyzer::AnalysisOptions options) {
  if (!session_.is_open()) return;
  compare_error_.reset();
  options.cache = true;
  worker_.compare(session_.shared_model(), std::move(paths), std::move(options));
}

void MainWindow::open_model(std::shared_ptr<const view::Model> model) {
  show_model(std::move(model));
  if (remembers_) remember_run(paths_);
  events_.begin();
}

// What a run opens with, a finding's rows among it, can be chosen once its events are there; unless
// somebody has looked elsewhere meanwhile.
void MainWindow::settle() {
  if (views_.is_as_recalled()) {
    session_.open_again();
    views_.recall(paths_);
  }
  refresh();
  emit settled();
}

void MainWindow::choose_recent() {
  QMenu* menu = remembers_ ? opening_->recent().make_menu(this) : nullptr;
  if (menu == nullptr) {
    set_message(tr("none of the recent runs is still there"));
    return;
  }
  menu->popup(go_to_->mapToGlobal(QPoint(0, go_to_->height())));
}

void MainWindow::choose_run() {
  const QString last = paths_.empty() ? QString() : to_qstring(paths_.front().string());
  const QString folder = QFileDialog::getExistingDirectory(this, tr("The folder of a run"), last);
  if (!folder.isEmpty()) open({folder.toStdString()});
}

// One at a time: a second one could write to the same place.
void MainWindow::show_export() {
  if (!session_.is_open()) return;
  auto* dialog = findChild<ExportDialog*>();
  if (dialog == nullptr) {
    dialog = new ExportDialog(look_, paths_, session_.model(),
                              part_of(session_.model(), session_.selecting.selection()), this);
  }
  dialog->show();
  dialog->raise();
  dialog->activateWindow();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (!files_in(*event->mimeData()).empty()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  std::vector<std::filesystem::path> files = files_in(*event->mimeData());
  if (files.empty()) return;
  event->acceptProposedAction();
  open(std::move(files));
}

// A run that is being recorded is followed; of one that was written anew it is only said.
void MainWindow::run_changed() {
  if (!session_.is_open()) return;
  if (!watch_.has_open_trace()) {
    set_message(tr("the run has changed on disk: F5 reads it again"));
  } else if (!renewing_) {
    read_again();
  }
}

void MainWindow::read_again() {
  if (paths_.empty()) return;
  if (!session_.is_open()) {
    open(paths_, options_);
    return;
  }
  set_renewing(true);
  renewed_.start();
  std::set<int> with_events;
  for (const view::RankModel& rank : session_.model().ranks) {
    if (rank.events->loaded) with_events.insert(rank.rank);
  }
  worker_.open(paths_, options_, std::move(with_events));
}

void MainWindow::renew_model(std::shared_ptr<const view::Model> model) {
  set_renewing(false);
  opening_->end();
  stage_.clear();
  session_.renew(std::move(model));
  described_.reset();
  events_.begin_anew();
  watch_.watch(session_.model().run);
  set_message(watch_.has_open_trace() ? tr("still being recorded, and followed") : QString());
  // Where reading takes long, it happens less often.
  constexpr int kShareOfReading = 4;
  constexpr qint64 kLeastMs = 1000;
  watch_.set_pause(
      std::chrono::milliseconds(std::max(kLeastMs, renewed_.elapsed() * kShareOfReading)));
  refresh();
}

// Events of a run that is being read again are not asked for.
void MainWindow::set_renewing(bool renewing) {
  renewing_ = renewing;
  events_.set_paused(renewing);
}

Status MainWindow::restore_view(const std::filesystem::path& file) {
  const Result<view::SavedView> view = view::read_view(file);
  if (!view.ok()) return fail(view.error());
  session_.restore(*view);
  refresh();
  return Done{};
}

// --- what the window remembers from one day to the next ---

void MainWindow::recall_layout() {
  remembers_ = true;
  opening_->recent().list();
  refresh();
  keys_.recall();
  const QSettings settings;
  if (settings.value(kVersionKey).toInt() != kVersion) return;
  restoreGeometry(settings.value(kGeometryKey).toByteArray());
  tracks_closed_ = settings.value(kTracksClosedKey).toBool();
  moved_by_hand_ = columns_->restoreState(settings.value(kColumnsKey).toByteArray());
  docks_->recall(settings.value(kDocksKey).toByteArray());
}

void MainWindow::reset_layout() {
  moved_by_hand_ = false;
  tracks_closed_ = false;
  docks_->reset(size());
  arrange();
}

void MainWindow::closeEvent(QCloseEvent* event) {
  views_.save();
  if (remembers_) {
    QSettings settings;
    settings.setValue(kVersionKey, kVersion);
    settings.setValue(kGeometryKey, saveGeometry());
    settings.setValue(kColumnsKey, moved_by_hand_ ? columns_->saveState() : QByteArray());
    settings.setValue(kDocksKey, docks_->state());
    settings.setValue(kTracksClosedKey, tracks_closed_);
  }
  QMainWindow::closeEvent(event);
}

// --- who has the keyboard ---

// In the order in which they are read: tracks, page, the docks that are seen.
void MainWindow::focus_pane(int by) {
  const auto page = static_cast<size_t>(session_.viewport.page());
  QWidget* of_page = canvas_;
  if (session_.viewport.page() == view::Page::kHeatmap) of_page = heatmap_;
  if (page_panes_[page] != nullptr) of_page = page_panes_[page];
  std::vector<QWidget*> panes = {filter_, of_page};
  for (size_t d = 0; d < view::kDocks.size(); ++d) {
    const auto dock = static_cast<view::Dock>(d);
    if (docks_->is_seen(dock)) panes.push_back(&docks_->field_of(dock));
  }
  const QWidget* const now = QApplication::focusWidget();
  const auto count = static_cast<int>(panes.size());
  int at = by > 0 ? -1 : count;
  for (int i = 0; i < count; ++i) {
    if (now != nullptr &&
        (panes[static_cast<size_t>(i)] == now || panes[static_cast<size_t>(i)]->isAncestorOf(now)))
      at = i;
  }
  for (int step = 0; step < count; ++step) {
    at = (at + by + count) % count;
    QWidget* pane = panes[static_cast<size_t>(at)];
    if (!pane->isVisible()) continue;
    pane->activateWindow();  // a dock may have one of its own
    pane->setFocus(Qt::TabFocusReason);
    return;
  }
}

}  // namespace dprof::widgets
