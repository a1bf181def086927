// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/commands.h"

#include <QApplication>
#include <QClipboard>
#include <QFileDialog>
#include <QKeyEvent>
#include <QMenu>
#include <QSaveFile>

#include "gui/view/docks/sql_dock.h"
#include "gui/view/docks/table_dock.h"
#include "gui/view/drawing/texts.h"
#include "gui/widgets/manual.h"
#include "gui/widgets/picture.h"
#include "gui/widgets/sql_pane.h"

namespace dprof::widgets {
namespace {

constexpr int kPanPart = 8;  // of the width

// Keys that are meant by their place on the keyboard. Codes as X11 and Wayland count them.
struct PhysicalKey {
  quint32 scan_code;
  int key;
};
constexpr PhysicalKey kW{25, Qt::Key_W};
constexpr PhysicalKey kA{38, Qt::Key_A};
constexpr PhysicalKey kS{39, Qt::Key_S};
constexpr PhysicalKey kD{40, Qt::Key_D};

// By the letter if the platform gives no scan code (offscreen, synthetic events).
bool is_key(const QKeyEvent& event, PhysicalKey key) {
  if (event.nativeScanCode() != 0) return event.nativeScanCode() == key.scan_code;
  return event.key() == key.key;
}

}  // namespace

Commands::Commands(const CommandParts& parts, view::Session& session, Look& look, QWidget& window)
    : QObject(&window),
      session_(session),
      look_(look),
      window_(window),
      canvas_(parts.canvas),
      tracks_(parts.tracks),
      filter_(parts.filter),
      docks_(parts.docks),
      go_to_(parts.go_to),
      asking_(parts.asking),
      keys_(parts.keys) {
  add_view_actions();
  add_selection_actions();
  add_path_actions();
  add_track_actions();
  add_sql_actions();
  add_window_actions();
  add_focus_actions();
  go_to_.complete(window_.actions(), look_);
  connect(&canvas_, &Canvas::menu_wanted, this, &Commands::show_menu_at);
  connect(&tracks_, &Tracks::menu_wanted, this, &Commands::show_menu_at);
}

// Most commands are about an open run, and do nothing without one.
QAction* Commands::add_action(const QString& text, const QList<QKeySequence>& keys,
                              std::function<void()> run, const char* word) {
  auto* action = new QAction(text, &window_);
  KeyBindings::prepare(*action, keys, word);
  action->setShortcutContext(Qt::WindowShortcut);
  connect(action, &QAction::triggered, this, [this, run = std::move(run)] {
    if (!session_.is_open()) return;
    emit remarked({});
    run();
    emit changed();
  });
  window_.addAction(action);
  return action;
}

bool Commands::press(const QString& keys) {
  const QKeySequence wanted(keys);
  if (wanted.isEmpty()) return false;
  const QList<QAction*> all = window_.actions();
  for (QAction* action : all) {
    if (!action->shortcuts().contains(wanted)) continue;
    action->trigger();
    return true;
  }
  const QKeyEvent event(QEvent::KeyPress, wanted[0].key(), wanted[0].keyboardModifiers());
  const auto is_it = [&](PhysicalKey known) { return known.key == wanted[0].key(); };
  if (!is_it(kW) && !is_it(kA) && !is_it(kS) && !is_it(kD)) return false;
  follow(event);
  return true;
}

bool Commands::follow(const QKeyEvent& event) {
  if (!session_.is_open() ||
      (event.modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier)) != 0)
    return false;
  const int times = event.modifiers().testFlag(Qt::ShiftModifier) ? 4 : 1;
  const bool in = is_key(event, kW);
  const bool out = is_key(event, kS);
  const bool earlier = is_key(event, kA);
  const bool later = is_key(event, kD);
  if (!in && !out && !earlier && !later) return false;
  for (int i = 0; i < times; ++i) {
    if (in || out) {
      zoom(in, canvas_.anchor());
    } else {
      session_.viewport.pan((earlier ? -1 : 1) * canvas_.width() / kPanPart);
    }
  }
  emit changed();
  return true;
}

void Commands::zoom(bool in, int anchor) {
  if (in) {
    session_.viewport.zoom(anchor, 2, 3);
  } else {
    session_.viewport.zoom(anchor, 3, 2);
  }
}

void Commands::add_view_actions() {
  const auto middle = [this] { return canvas_.width() / 2; };
  const auto page = [this] { return canvas_.height() * 3 / 4; };
  add_action(tr("Zoom in"), {Qt::Key_Plus, Qt::Key_Equal}, [=, this] { zoom(true, middle()); });
  add_action(tr("Zoom out"), {Qt::Key_Minus}, [=, this] { zoom(false, middle()); });
  add_action(tr("The whole run"), {Qt::Key_0}, [this] { session_.viewport.show_all(); });
  add_action(tr("Earlier"), {Qt::Key_Left},
             [this] { session_.viewport.pan(-canvas_.width() / kPanPart); });
  add_action(tr("Later"), {Qt::Key_Right},
             [this] { session_.viewport.pan(canvas_.width() / kPanPart); });
  add_action(tr("Scroll up"), {Qt::Key_Up},
             [this] { session_.tracks.scroll_by(-view::kRowHeight); });
  add_action(tr("Scroll down"), {Qt::Key_Down},
             [this] { session_.tracks.scroll_by(view::kRowHeight); });
  add_action(tr("Page up"), {Qt::Key_PageUp}, [=, this] { session_.tracks.scroll_by(-page()); });
  add_action(tr("Page down"), {Qt::Key_PageDown}, [=, this] { session_.tracks.scroll_by(page()); });
  add_action(tr("Start of the run"), {Qt::Key_Home}, [this] { session_.viewport.go_to_start(); });
  add_action(tr("End of the run"), {Qt::Key_End}, [this] { session_.viewport.go_to_end(); });
  about_selection_ << add_action(tr("Bring the selection into view; again: fit it"), {Qt::Key_F},
                                 [this] { session_.selecting.focus(); });
  about_selection_ << add_action(tr("Selection becomes the range"), {Qt::Key_R}, [this] {
    session_.selecting.select_range(session_.selecting.range());
  });
  add_action(tr("Back to the range, page or filter before"),
             {Qt::Key_Backspace, QKeySequence("Alt+Left")}, [this] { session_.viewport.back(); });
  add_action(tr("Forward to the range, page or filter after"), {QKeySequence("Alt+Right")},
             [this] { session_.viewport.forward(); });
}

// Of a collective to the next rank that arrived, of others along what they led to.
void Commands::next_along(int by) {
  if (session_.selecting.selection().collective) {
    session_.walk.next_arrival(by);
  } else {
    session_.walk.next_in_flow(by);
  }
}

void Commands::add_selection_actions() {
  add_action(tr("Next finding"), {Qt::Key_N}, [this] {
    if (session_.walk.next_finding(1)) docks_.offer(view::Dock::kFindings);
  });
  add_action(tr("Previous finding"), {QKeySequence("Shift+N")}, [this] {
    if (session_.walk.next_finding(-1)) docks_.offer(view::Dock::kFindings);
  });
  add_action(tr("Next rank worth a look: culprits, their victims, slowest, fastest, typical"),
             {Qt::Key_O}, [this] { session_.walk.next_notable(1); });
  add_action(tr("Previous rank worth a look"), {QKeySequence("Shift+O")},
             [this] { session_.walk.next_notable(-1); });
  add_action(tr("Ranks × steps: group ranks by host, rack or communicator, in turn"), {Qt::Key_B},
             [this] { session_.steps.next_division(); });
  add_action(tr("Ranks × steps: fold or unfold all groups"), {QKeySequence("Shift+B")},
             [this] { session_.steps.fold(!session_.steps.rows().folded); });
  add_action(tr("Next step"), {Qt::Key_T}, [this] { session_.walk.next_step(1); });
  add_action(tr("Previous step"), {QKeySequence("Shift+T")},
             [this] { session_.walk.next_step(-1); });
  add_action(tr("Next rank to arrive at the collective"), {Qt::Key_BracketRight},
             [this] { next_along(1); });
  add_action(tr("Previous rank to arrive at the collective"), {Qt::Key_BracketLeft},
             [this] { next_along(-1); });
  add_action(
      tr("Where it failed"), {}, [this] { session_.selecting.select_failure(); }, "failure");
  add_action(tr("Next on the lane"), {Qt::Key_Period, QKeySequence("Ctrl+Right")},
             [this] { session_.walk.next_slice(1); });
  add_action(tr("Previous on the lane"), {Qt::Key_Comma, QKeySequence("Ctrl+Left")},
             [this] { session_.walk.next_slice(-1); });
}

void Commands::add_path_actions() {
  add_action(tr("Show or hide the critical path"), {Qt::Key_C}, [this] {
    if (!session_.model().path) return remarked(tr("the run has no critical path"));
    session_.path.show(!session_.path.is_shown());
    if (session_.path.is_shown()) session_.viewport.show_page(view::Page::kTimeline);
  });
  add_action(tr("Why is this step long?"), {QKeySequence("Shift+C")},
             [this] { explain_step(std::nullopt); });
  add_action(
      tr("Copy the what-if as a command line"), {},
      [this] {
        if (session_.what_if.changes().empty()) return remarked(tr("nothing is changed yet"));
        QApplication::clipboard()->setText(to_qstring(session_.what_if.command_line()));
        emit remarked(tr("copied: %1").arg(to_qstring(session_.what_if.command_line())));
      },
      "copy-what-if");
}

void Commands::add_track_actions() {
  about_selection_ << add_action(tr("Fold or unfold the selected rank"), {Qt::Key_Space}, [this] {
    session_.tracks.toggle_first_of(session_.selecting.selection().ranks);
  });
  about_selection_ << add_action(
      tr("Pin the selected tracks on top, or unpin them"), {Qt::Key_P}, [this] {
        session_.tracks.pin(view::tracks_of(session_.model(), session_.selecting.selection()));
      });
  about_selection_ << add_action(
      tr("Pin or unpin this track on all ranks"), {QKeySequence("Shift+P")}, [this] {
        if (const std::string pattern =
                view::track_pattern_of(session_.model(), session_.selecting.selection());
            !pattern.empty())
          session_.tracks.pin({pattern});
      });
  about_selection_ << add_action(
      tr("Pin or unpin the ranks of the selected collective's communicator"), {},
      [this] {
        if (const auto tracks =
                view::tracks_of_communicator(session_.model(), session_.selecting.selection());
            !tracks.empty())
          session_.tracks.pin(tracks);
      },
      "pin-communicator");
  about_selection_ << add_action(tr("Hide the selected tracks"), {Qt::Key_H}, [this] {
    session_.tracks.hide(view::tracks_of(session_.model(), session_.selecting.selection()));
  });
  add_action(tr("Show the hidden tracks"), {QKeySequence("Shift+H")},
             [this] { session_.tracks.show_hidden(); });
  for (const int by : {-1, 1}) {
    add_action(by < 0 ? tr("Move the selected rank up") : tr("Move the selected rank down"),
               {QKeySequence(by < 0 ? "Ctrl+Shift+Up" : "Ctrl+Shift+Down")}, [this, by] {
                 for (const int rank : session_.selecting.selection().ranks)
                   session_.tracks.move_rank(rank, by);
               });
  }
  add_action(tr("Write a note at the mouse"), {Qt::Key_M}, [this] {
    const TraceNs at = session_.viewport.scale().time_of(canvas_.anchor());
    go_to_.begin_note({at, at});
  });
  about_selection_ << add_action(tr("Write a note on the selected range"),
                                 {QKeySequence("Shift+M")},
                                 [this] { go_to_.begin_note(session_.selecting.range()); });
}

void Commands::add_window_actions() {
  add_action(tr("Go to a selector"), {Qt::Key_G}, [this] { go_to_.setFocus(); });
  add_action(tr("Search for events by name"), {Qt::Key_Slash, QKeySequence("Ctrl+F")},
             [this] { go_to_.begin(QStringLiteral("/")); });
  add_action(tr("Run a command by its name"), {QKeySequence("Ctrl+Shift+P")},
             [this] { go_to_.begin(QStringLiteral(">")); });
  add_action(tr("Filter the tracks"), {QKeySequence("Ctrl+P")}, [this] { filter_.setFocus(); });
  for (size_t p = 0; p < view::kPages.size(); ++p) {
    add_action(tr("Page: %1").arg(to_qstring(view::translated(view::kPages[p].title))),
               {QKeySequence(QStringLiteral("Ctrl+%1").arg(p + 1))},
               [this, p] { session_.viewport.show_page(static_cast<view::Page>(p)); });
  }
  add_action(tr("Show or hide the tracks"), {QKeySequence("Alt+1")},
             [this] { emit tracks_toggled(); });
  for (size_t d = 0; d < view::kDocks.size(); ++d) {
    add_action(to_qstring(view::translated(view::kDocks[d].title)),
               {QKeySequence(to_qstring(view::kDocks[d].key))},
               [this, d] { show_dock(static_cast<view::Dock>(d)); });
  }
  add_action(
      tr("Detach the dock from the window, or put it back"), {},
      [this] { docks_.move_out_or_back(session_.dock); }, "move-dock");
  add_action(
      tr("Close the dock"), {}, [this] { docks_.put_away(session_.dock); }, "close-dock");
  add_action(tr("Copy the listed events, or the SQL result"), {QKeySequence::Copy}, [this] {
    if (session_.dock == view::Dock::kSql && session_.sql.result()) {
      QApplication::clipboard()->setText(to_qstring(view::result_as_text(*session_.sql.result())));
      emit remarked(tr("%1 rows copied").arg(session_.sql.result()->rows.size()));
      return;
    }
    QApplication::clipboard()->setText(
        to_qstring(view::events_as_text(session_.model(), session_.events.list_now())));
    const view::EventList& events = session_.events.list();
    emit remarked(tr("%1 of %2 events copied").arg(events.events.size()).arg(events.count));
  });
  add_action(
      tr("Save the listed events as CSV"), {}, [this] { save_events(); }, "save-events");
  about_selection_ << add_action(
      tr("Copy the selectors of what is selected"), {QKeySequence("Ctrl+Shift+C")}, [this] {
        QStringList selectors;
        for (const std::string& one :
             view::selectors_of(session_.model(), session_.selecting.selection()))
          selectors << to_qstring(one);
        QApplication::clipboard()->setText(selectors.join(QStringLiteral(" ")));
      });
  connect(add_action(tr("Open a run"), {QKeySequence::Open}, [] {}), &QAction::triggered, this,
          &Commands::open_wanted);
  connect(add_action(tr("Recent runs"), {QKeySequence("Ctrl+Shift+O")}, [] {}), &QAction::triggered,
          this, &Commands::recent_wanted);
  QAction* write_all = add_action(tr("Export the run…"), {QKeySequence("Ctrl+E")}, [] {});
  connect(write_all, &QAction::triggered, this, &Commands::export_wanted);
  about_selection_ << write_all;
  connect(add_action(tr("Read the run again"), {Qt::Key_F5}, [] {}), &QAction::triggered, this,
          &Commands::read_again_wanted);
  connect(add_action(
              tr("Save this view as a file"), {}, [] {}, "save-view"),
          &QAction::triggered, this, &Commands::save_view_as);
  add_action(tr("Save the view as a picture (PNG, SVG, PDF)"), {QKeySequence("Ctrl+Shift+S")},
             [this] { save_picture(); });
  add_action(
      tr("Reset the layout"), {}, [this] { emit layout_reset(); }, "reset-layout");
  add_action(tr("End the SQL statement; leave the field; clear the selection"), {Qt::Key_Escape},
             [this] {
               if (tracks_.cancel_drag()) return;
               if (session_.sql.is_asking()) {
                 asking_.cancel();
               } else if (canvas_.hasFocus()) {
                 session_.selecting.clear();
               } else {
                 window_.activateWindow();  // a dock may have one of its own
                 canvas_.setFocus();
               }
             });
  add_action(tr("All keys"), {Qt::Key_Question}, [this] { keys_.show_dialog(); });
  connect(add_action(tr("The manual of this view"), {Qt::Key_F1}, [] {}), &QAction::triggered, this,
          [this] { show_manual(window_, look_, manual_section()); });
}

void Commands::add_sql_actions() {
  add_action(tr("Run the SQL statement"), {QKeySequence("Ctrl+Return"), QKeySequence("Ctrl+Enter")},
             [this] {
               session_.dock = view::Dock::kSql;
               asking_.ask();
             });
  for (const int by : {-1, 1}) {
    QAction* action = add_action(by < 0 ? tr("In its field: the SQL statement before")
                                        : tr("In its field: the SQL statement after"),
                                 {QKeySequence(by < 0 ? "Ctrl+Up" : "Ctrl+Down")},
                                 [this, by] { session_.sql.walk_history(by); });
    action->setShortcutContext(Qt::WidgetShortcut);
    docks_.sql().field().addAction(action);
    add_action(by < 0 ? tr("Previous row of the SQL result") : tr("Next row of the SQL result"),
               {QKeySequence(by < 0 ? "Alt+Up" : "Alt+Down")}, [this, by] {
                 if (!session_.sql_results.next_line(by)) return;
                 docks_.refresh();
                 docks_.pane(view::Dock::kSql)
                     .reveal(view::box_of_result_line(session_.sql, *session_.sql.line()));
               });
  }
  add_action(tr("Make a track from the SQL result, or remove it"), {QKeySequence("Ctrl+Shift+T")},
             [this] { toggle_result_track(); });
  add_action(
      tr("Remove the selected track made from a SQL result, or all of them"), {},
      [this] { session_.sql_results.remove_tracks(); }, "remove-tracks");
  add_action(tr("Begin a SQL statement"), {Qt::Key_Colon},
             [this] { go_to_.begin(QStringLiteral(":")); });
}

void Commands::add_focus_actions() {
  add_action(tr("Next part of the window"), {Qt::Key_F6}, [this] { emit focus_moved(1); });
  add_action(tr("Previous part of the window"), {QKeySequence("Shift+F6")},
             [this] { emit focus_moved(-1); });
  add_action(tr("Full screen"), {Qt::Key_F11},
             [this] { window_.setWindowState(window_.windowState() ^ Qt::WindowFullScreen); });
  for (const int by : {-1, 1}) {
    QAction* action = add_action(by < 0 ? tr("On the timeline: the event around this one")
                                        : tr("On the timeline: the first event within this one"),
                                 {QKeySequence(by < 0 ? "Ctrl+Up" : "Ctrl+Down")},
                                 [this, by] { session_.walk.next_depth(by); });
    action->setShortcutContext(Qt::WidgetShortcut);
    canvas_.addAction(action);
  }
}

void Commands::save_picture() {
  const QString path =
      QFileDialog::getSaveFileName(&window_, tr("Save what is seen"), QStringLiteral("dprof.png"),
                                   tr("Pictures (*.png *.svg *.pdf)"));
  if (path.isEmpty()) return;
  const Status written = write_picture(path.toStdString(), window_);
  emit remarked(written.ok() ? tr("saved %1").arg(path)
                             : to_qstring(written.error().what + ": " + written.error().hint));
}

void Commands::save_events() {
  const QString path = QFileDialog::getSaveFileName(
      &window_, tr("Save the listed events"), QStringLiteral("events.csv"), tr("Tables (*.csv)"));
  if (path.isEmpty()) return;
  QSaveFile file(path);
  const QByteArray text =
      QByteArray::fromStdString(view::events_as_csv(session_.model(), session_.events.list_now()));
  const bool written =
      file.open(QIODevice::WriteOnly) && file.write(text) == text.size() && file.commit();
  const view::EventList& events = session_.events.list();
  emit remarked(written ? tr("%1 of %2 events saved").arg(events.events.size()).arg(events.count)
                        : tr("%1: %2").arg(path, file.errorString()));
}

void Commands::save_view_as() {
  if (!session_.is_open()) return;
  const QString path = QFileDialog::getSaveFileName(
      &window_, tr("Save this view"), QStringLiteral("view.json"), tr("Views (*.json)"));
  if (path.isEmpty()) return;
  view::SavedView view = session_.saved_view();
  view.notes.clear();  // they are about this run
  const Status written = view::write_view(path.toStdString(), view);
  emit remarked(written.ok() ? tr("saved %1").arg(path) : to_qstring(written.error().what));
}

// The dock SQL with its field; keys never go to a field that is no longer there.
void Commands::show_dock(view::Dock dock) {
  const bool leaves_field = docks_.sql().field().hasFocus();
  session_.dock = dock;
  docks_.bring(dock);
  docks_.refresh();
  if (dock == view::Dock::kSql) {
    docks_.sql().field().setFocus();
  } else if (leaves_field) {
    canvas_.setFocus();
  }
}

void Commands::toggle_result_track() {
  if (session_.sql_results.has_track()) {
    session_.sql_results.remove_track();
    return;
  }
  const Status made = session_.sql_results.make_track();
  if (!made.ok()) {
    emit remarked(to_qstring(made.error().what + ": " + made.error().hint));
  } else if (session_.viewport.page() != view::Page::kTimeline) {
    session_.viewport.show_page(view::Page::kTimeline);
    canvas_.setFocus();
  }
}

void Commands::explain_step(std::optional<int64_t> step) {
  const Status shown = session_.explain_step(step);
  emit remarked(shown.ok() ? QString()
                           : to_qstring(shown.error().what + ": " + shown.error().hint));
  emit changed();
}

// It is selected already.
void Commands::show_menu_at(QPoint global) {
  auto* menu = new QMenu(&window_);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->setFont(look_.font(view::Font::kBody));
  if (session_.selecting.selection().slice) {
    const std::string name = name_of(session_.model(), *session_.selecting.selection().slice);
    menu->addAction(tr("All events of this name"), this, [this, name] {
      session_.selecting.select_name(name);
      session_.dock = view::Dock::kHistogram;
      emit changed();
    });
    menu->addSeparator();
  }
  if (session_.model().path && session_.viewport.page() == view::Page::kTimeline) {
    const std::optional<int64_t> step = canvas_.take_menu_step();
    menu->addAction(step ? tr("Why is step %1 long?").arg(*step) : tr("Why is this step long?"),
                    this, [this, step] { explain_step(step); });
    menu->addSeparator();
  }
  menu->addActions(about_selection_);
  menu->popup(global);
}

// As the headings of docs/gui.md are; the manual is English.
QString Commands::manual_section() const {
  if (const auto dock = docks_.dock_with(QApplication::focusWidget()))
    return *dock == view::Dock::kSql ? QStringLiteral("SQL")
                                     : QStringLiteral("The docks");  // untranslated: a heading
  if (session_.viewport.page() == view::Page::kTimeline)
    return QStringLiteral("What is where");  // untranslated: a heading
  return to_qstring(view::info_of(session_.viewport.page()).title);
}

}  // namespace dprof::widgets
