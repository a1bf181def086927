// SPDX-License-Identifier: Apache-2.0
// Keeps the view of a run and the notes about it from one day to the next: in the file beside
// the run, or among the user's own where that cannot be written.
#pragma once

#include <QObject>
#include <QTimer>
#include <filesystem>
#include <vector>

#include "gui/view/model/saved_view.h"
#include "gui/view/session/session.h"

namespace dprof::widgets {

class ViewKeeper : public QObject {
  Q_OBJECT

 public:
  explicit ViewKeeper(view::Session& session);

  // From now on views are kept.
  void keep() { keeps_ = true; }
  [[nodiscard]] bool keeps() const { return keeps_; }
  // As the run of these paths, which has just been opened, was looked at last.
  void recall(std::vector<std::filesystem::path> paths);
  // Nobody has looked elsewhere since.
  [[nodiscard]] bool is_as_recalled() const { return session_.saved_view() == kept_; }
  void save_soon();
  void save();

 signals:
  void remarked(const QString& text);

 private:
  view::Session& session_;
  QTimer pause_;
  std::vector<std::filesystem::path> paths_;
  view::SavedView kept_;
  bool keeps_ = false;
};

}  // namespace dprof::widgets
