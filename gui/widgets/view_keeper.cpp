// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/view_keeper.h"

#include "gui/widgets/look.h"
#include "gui/widgets/panes.h"

namespace dprof::widgets {

ViewKeeper::ViewKeeper(view::Session& session) : session_(session) {
  pause_.setSingleShot(true);
  pause_.setInterval(std::chrono::seconds(1));
  connect(&pause_, &QTimer::timeout, this, &ViewKeeper::save);
}

void ViewKeeper::recall(std::vector<std::filesystem::path> paths) {
  paths_ = std::move(paths);
  kept_ = session_.saved_view();
  if (!keeps_) return;
  for (const std::filesystem::path& file :
       {view::view_file_of(paths_), view::own_view_file_of(paths_)}) {
    std::error_code ignored;
    if (file.empty() || !std::filesystem::exists(file, ignored)) continue;
    const Result<view::SavedView> view = view::read_view(file);
    if (view.ok()) {
      session_.restore(*view);
      kept_ = session_.saved_view();
    } else {
      emit remarked(to_qstring(view.error().what));
    }
    return;
  }
}

void ViewKeeper::save_soon() {
  if (keeps_ && session_.is_open() && !pause_.isActive()) pause_.start();
}

void ViewKeeper::save() {
  if (!keeps_ || !session_.is_open()) return;
  const view::SavedView view = session_.saved_view();
  if (view == kept_) return;
  kept_ = view;
  const std::filesystem::path beside = view::view_file_of(paths_);
  if (!beside.empty() && view::write_view(beside, view).ok()) return;
  const std::filesystem::path own = view::own_view_file_of(paths_);
  if (own.empty() || !view::write_view(own, view).ok())
    emit remarked(tr("this view cannot be saved: the run's folder and yours are read-only"));
}

}  // namespace dprof::widgets
