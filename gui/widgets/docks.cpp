// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/docks.h"

#include <QApplication>
#include <QChildEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QScopedValueRollback>
#include <algorithm>

#include "gui/view/draw_session.h"
#include "gui/view/drawing/texts.h"
#include "gui/widgets/dock_title.h"
#include "gui/widgets/sql_pane.h"

namespace dprof::widgets {
namespace {

constexpr int kStateVersion = 1;  // of saveState(); another one is ignored
constexpr int kWideRight = 376;
constexpr int kNarrowRight = 296;
constexpr int kWide = 1500;         // a window that has room for the wide one
constexpr int kRoomOnRight = 1366;  // below that nothing is on the right
constexpr int kLeastWidth = 220;
constexpr QPoint kOutOfPlace(-40, -80);  // so that one sees that it is a window
constexpr int kAroundPage = 70;          // top bar and status line

}  // namespace

Docks::Docks(view::Session& session, Look& look, QWidget* page, QWidget* parent)
    : QMainWindow(parent), session_(session), look_(look) {
  setWindowFlags(Qt::Widget);
  setObjectName(QStringLiteral("docks"));
  setDockOptions(AllowNestedDocks | AllowTabbedDocks | GroupedDragging);
  setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
  setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
  setCorner(Qt::TopRightCorner, Qt::RightDockWidgetArea);
  setCentralWidget(page);
  look_again_.setSingleShot(true);
  look_again_.setInterval(0);
  connect(&look_again_, &QTimer::timeout, this, &Docks::look_again);
  for (size_t d = 0; d < view::kDocks.size(); ++d) add(static_cast<view::Dock>(d));
  place_all(false);
  by_hand_ = true;
  // Of docks side by side the one with the keyboard is in use.
  connect(qApp, &QApplication::focusChanged, &alive_, [this](QWidget*, QWidget* to) {
    if (const auto dock = dock_with(to)) use(*dock);
  });
}

void Docks::add(view::Dock dock) {
  const view::DockInfo& info = view::info_of(dock);
  const QString title = to_qstring(view::translated(info.title));
  Place& place = of(dock);
  place.frame = new QDockWidget(title.toUpper(), this);  // the text of its tab
  place.frame->setObjectName(to_qstring(info.word));
  place.title = new DockTitle(look_, title, place.frame);
  place.frame->setTitleBarWidget(place.title);
  const auto drawn_when =
      dock == view::Dock::kFindings ? ScrollPane::Drawn::kWhole : ScrollPane::Drawn::kInView;
  place.pane = new ScrollPane(
      look_,
      [this, dock](int width, int height, int top) {
        // A pane that nobody sees is resized, too.
        if (!session_.is_open() || !is_seen(dock)) return view::Panel();
        view::Panel panel =
            view::draw_dock(session_, dock, {width, height}, top, fields_, look_.measure());
        emit drawn();
        return panel;
      },
      drawn_when);
  place.pane->setAccessibleName(title);
  connect(place.pane, &ScrollPane::followed, this, &Docks::followed);
  QWidget* content = place.pane;
  if (dock == view::Dock::kSql) content = sql_ = new SqlPane(session_.sql, look_, place.pane);
  content->setMinimumWidth(kLeastWidth);
  place.frame->setWidget(content);

  connect(place.title, &DockTitle::move_wanted, this, [this, dock] { move_out_or_back(dock); });
  connect(place.title, &DockTitle::close_wanted, this, [this, dock] { put_away(dock); });
  const auto moved = [this] {
    if (by_hand_) moved_by_hand_ = true;
    look_again_.start();
  };
  connect(place.frame, &QDockWidget::topLevelChanged, this, [this, dock, moved](bool out) {
    moved();
    if (out) field_of(dock).setFocus();  // once its own window has the keyboard
  });
  connect(place.frame, &QDockWidget::dockLocationChanged, this, moved);
  connect(place.frame, &QDockWidget::visibilityChanged, &look_again_, qOverload<>(&QTimer::start));
}

void Docks::place_all(bool narrow) {
  const QScopedValueRollback quiet(by_hand_, false);
  QDockWidget* below = nullptr;
  QDockWidget* right = nullptr;
  for (size_t d = 0; d < view::kDocks.size(); ++d) {
    QDockWidget* frame = places_[d].frame;
    const bool on_right = view::kDocks[d].side == view::DockSide::kRight && !narrow;
    QDockWidget*& beside = on_right ? right : below;
    frame->setFloating(false);
    addDockWidget(on_right ? Qt::RightDockWidgetArea : Qt::BottomDockWidgetArea, frame);
    if (beside != nullptr) tabifyDockWidget(beside, frame);
    frame->show();
    beside = frame;
  }
  if (!narrow) of(view::Dock::kFindings).frame->raise();
  of(session_.dock).frame->raise();
  narrow_ = narrow;
}

void Docks::arrange(QSize window) {
  if (moved_by_hand_) return;
  const bool narrow = window.width() < kRoomOnRight;
  if (narrow_ != narrow) place_all(narrow);
  const QScopedValueRollback quiet(by_hand_, false);
  const int below = (window.height() - kAroundPage) * 63 / 200;  // ten lines of the table at 1080
  if (!narrow) {
    resizeDocks({of(view::Dock::kFindings).frame},
                {window.width() < kWide ? kNarrowRight : kWideRight}, Qt::Horizontal);
  }
  resizeDocks({of(view::Dock::kSelection).frame}, {below}, Qt::Vertical);
}

void Docks::reset(QSize window) {
  moved_by_hand_ = false;
  narrow_.reset();
  arrange(window);
}

QByteArray Docks::state() const { return moved_by_hand_ ? saveState(kStateVersion) : QByteArray(); }

void Docks::recall(const QByteArray& state) {
  const QScopedValueRollback quiet(by_hand_, false);
  moved_by_hand_ = !state.isEmpty() && restoreState(state, kStateVersion);
}

bool Docks::is_seen(view::Dock dock) const {
  // A tab behind others is kept out of the window's rectangle.
  return !of(dock).frame->visibleRegion().isEmpty();
}

template <typename Is>
std::optional<view::Dock> Docks::dock_whose_frame(const Is& is) const {
  const auto place = std::ranges::find_if(places_, is, &Place::frame);
  if (place == places_.end()) return std::nullopt;
  return static_cast<view::Dock>(place - places_.begin());
}

std::optional<view::Dock> Docks::dock_with(const QWidget* widget) const {
  return dock_whose_frame(
      [&](const QDockWidget* frame) { return widget != nullptr && frame->isAncestorOf(widget); });
}

void Docks::use(view::Dock dock) {
  brought_ = dock;
  session_.dock = dock;
}

QWidget& Docks::field_of(view::Dock dock) {
  return dock == view::Dock::kSql ? static_cast<QWidget&>(sql_->field()) : pane(dock);
}

void Docks::bring(view::Dock dock) {
  const QScopedValueRollback quiet(by_hand_, false);
  QDockWidget* frame = of(dock).frame;
  frame->widget()->setEnabled(true);
  frame->show();
  frame->raise();
  look_again_.start();
}

void Docks::offer(view::Dock dock) {
  QDockWidget* frame = of(dock).frame;
  const QList<QDockWidget*> beside = tabifiedDockWidgets(frame);
  if (frame->isHidden() || beside.contains(of(session_.dock).frame)) return;
  bring(dock);
}

void Docks::move_out_or_back(view::Dock dock) {
  QDockWidget* frame = of(dock).frame;
  frame->setFloating(!frame->isFloating());
  if (frame->isFloating()) frame->move(frame->pos() + kOutOfPlace);
  session_.dock = dock;
  bring(dock);
  emit changed();
}

void Docks::put_away(view::Dock dock) {
  moved_by_hand_ = true;
  of(dock).frame->hide();
  look_again_.start();
}

void Docks::look_again() {
  // QMainWindow has its own opinion each time it takes them up.
  const QList<QTabBar*> all_tabs = findChildren<QTabBar*>(Qt::FindDirectChildrenOnly);
  for (QTabBar* tabs : all_tabs) tabs->setDrawBase(false);
  for (size_t d = 0; d < places_.size(); ++d) {
    Place& place = places_[d];
    const QList<QDockWidget*> beside = tabifiedDockWidgets(place.frame);
    const bool alone = std::ranges::all_of(
        beside, [](const QDockWidget* other) { return other->isHidden() || other->isFloating(); });
    const bool floating = place.frame->isFloating();
    place.title->show_title(alone || floating, floating);
    const int border = floating ? 1 : 0;  // of the frame's colour
    place.frame->setContentsMargins(border, border, border, border);
    const bool seen = is_seen(static_cast<view::Dock>(d));
    // Tab does not walk through what nobody sees.
    place.frame->widget()->setEnabled(seen);
    if (seen && !place.seen) place.pane->refresh();
    place.seen = seen;
  }
}

void Docks::refresh() {
  if (session_.is_open() && brought_ != session_.dock) {
    brought_ = session_.dock;
    bring(*brought_);
  }
  sql_->refresh();
  for (size_t d = 0; d < places_.size(); ++d) {
    if (is_seen(static_cast<view::Dock>(d))) places_[d].pane->refresh();
  }
  const std::optional<size_t> finding =
      session_.is_open() ? session_.selecting.selection().finding : std::nullopt;
  if (!finding) return;
  ScrollPane& cards = pane(view::Dock::kFindings);
  if (*finding < cards.links().size()) cards.reveal(cards.links()[*finding].box);
}

void Docks::describe(const view::Fields& fields) {
  fields_ = fields;
  if (is_seen(view::Dock::kDetails)) pane(view::Dock::kDetails).refresh();
}

bool Docks::event(QEvent* event) {
  if (event->type() == QEvent::ChildPolished) {
    auto* tabs = qobject_cast<QTabBar*>(static_cast<QChildEvent*>(event)->child());
    if (tabs != nullptr) dress(*tabs);
  }
  // The lines between the docks have no widget of their own. Clicks that nobody takes come here,
  // too.
  if (event->type() == QEvent::MouseButtonPress &&
      isSeparator(static_cast<QMouseEvent*>(event)->position().toPoint())) {
    moved_by_hand_ = true;
  }
  return QMainWindow::event(event);
}

// The tabs are made by QMainWindow where docks share a place.
void Docks::dress(QTabBar& tabs) {
  dress_tabs(tabs, look_);
  tabs.setContextMenuPolicy(Qt::CustomContextMenu);
  connect(&tabs, &QTabBar::customContextMenuRequested, this, [this, of = &tabs](QPoint at) {
    if (const auto dock = dock_of_tab(*of, of->tabAt(at))) show_menu(*dock, of->mapToGlobal(at));
  });
  connect(&tabs, &QTabBar::tabBarDoubleClicked, this, [this, of = &tabs](int tab) {
    if (const auto dock = dock_of_tab(*of, tab)) move_out_or_back(*dock);
  });
  const auto use_tab = [this, of = &tabs](int tab) {
    const auto dock = dock_of_tab(*of, tab);
    if (!dock) return;
    use(*dock);
    emit changed();
  };
  connect(&tabs, &QTabBar::tabBarClicked, this, use_tab);
  connect(&tabs, &QTabBar::currentChanged, this, [use_tab, of = &tabs](int tab) {
    if (of->hasFocus()) use_tab(tab);
  });
}

std::optional<view::Dock> Docks::dock_of_tab(const QTabBar& tabs, int tab) const {
  return dock_whose_frame([&](const QDockWidget* frame) {
    return tab >= 0 && frame->windowTitle() == tabs.tabText(tab);
  });
}

void Docks::show_menu(view::Dock dock, QPoint global) {
  QMenu* menu = createPopupMenu();
  menu->setAttribute(Qt::WA_DeleteOnClose);
  QAction* first = menu->actions().value(0);
  auto* out = new QAction(
      is_floating(dock) ? tr("Put back into the window") : tr("Take out of the window"), menu);
  connect(out, &QAction::triggered, this, [this, dock] { move_out_or_back(dock); });
  auto* away = new QAction(tr("Close"), menu);
  connect(away, &QAction::triggered, this, [this, dock] { put_away(dock); });
  menu->insertActions(first, {out, away});
  menu->insertSeparator(first);
  menu->popup(global);
}

QMenu* Docks::createPopupMenu() {
  auto* menu = new QMenu(this);
  menu->setFont(look_.font(view::Font::kBody));
  for (size_t d = 0; d < places_.size(); ++d) {
    const auto dock = static_cast<view::Dock>(d);
    QAction* action = menu->addAction(to_qstring(view::translated(view::kDocks[d].title)));
    action->setCheckable(true);
    action->setChecked(!places_[d].frame->isHidden());
    connect(action, &QAction::toggled, this, [this, dock](bool shown) {
      if (!shown) return put_away(dock);
      moved_by_hand_ = true;
      bring(dock);
    });
  }
  return menu;
}

}  // namespace dprof::widgets
