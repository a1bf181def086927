// SPDX-License-Identifier: Apache-2.0
// How a run was looked at, and what was noted about it, from one day to the next: the file beside
// the run. And runs that change while they are open.
#include "gui/view/saved_view.h"
#include "gui/widgets/main_window.h"

namespace dprof::widgets {

void MainWindow::keep_views() {
  keeps_views_ = true;
  save_pause_.setSingleShot(true);
  save_pause_.setInterval(std::chrono::seconds(1));
  connect(&save_pause_, &QTimer::timeout, this, &MainWindow::save_view);
}

void MainWindow::recall_view() {
  kept_ = session_.saved_view();
  if (!keeps_views_) return;
  for (const std::filesystem::path& file :
       {view::view_file_of(paths_), view::own_view_file_of(paths_)}) {
    std::error_code ignored;
    if (file.empty() || !std::filesystem::exists(file, ignored)) continue;
    const Result<view::SavedView> view = view::read_view(file);
    if (view.ok()) {
      session_.restore(*view);
      kept_ = session_.saved_view();
    } else {
      set_message(to_qstring(view.error().what));
    }
    return;
  }
}

Status MainWindow::restore_view(const std::filesystem::path& file) {
  const Result<view::SavedView> view = view::read_view(file);
  if (!view.ok()) return fail(view.error());
  session_.restore(*view);
  refresh();
  return Done{};
}

void MainWindow::save_view_soon() {
  if (keeps_views_ && session_.is_open() && !save_pause_.isActive()) save_pause_.start();
}

void MainWindow::save_view() {
  if (!keeps_views_ || !session_.is_open()) return;
  const view::SavedView view = session_.saved_view();
  if (view == kept_) return;
  kept_ = view;
  const std::filesystem::path beside = view::view_file_of(paths_);
  if (!beside.empty() && view::write_view(beside, view).ok()) return;
  const std::filesystem::path own = view::own_view_file_of(paths_);
  if (own.empty() || !view::write_view(own, view).ok())
    set_message(tr("this view cannot be kept: the run's folder and yours are read-only"));
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
  renewing_ = true;
  renewed_.start();
  std::set<int> with_events;
  for (const view::RankModel& rank : session_.model().ranks) {
    if (rank.events->loaded) with_events.insert(rank.rank);
  }
  worker_.open(paths_, options_, std::move(with_events));
}

void MainWindow::renew_model(std::shared_ptr<const view::Model> model) {
  renewing_ = false;
  error_.reset();
  stage_.clear();
  session_.renew(std::move(model));
  described_.reset();
  loading_events_ = false;
  failed_events_.clear();
  watch_.watch(session_.model().run);
  set_message(watch_.has_open_trace() ? tr("still being recorded, and followed") : QString());
  // Where reading takes long, it happens less often.
  constexpr int kShareOfReading = 4;
  constexpr qint64 kLeastMs = 1000;
  watch_.set_pause(
      std::chrono::milliseconds(std::max(kLeastMs, renewed_.elapsed() * kShareOfReading)));
  refresh();
}

}  // namespace dprof::widgets
