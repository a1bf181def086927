// SPDX-License-Identifier: Apache-2.0
// Shown while no run is open: how one is opened, which one is being opened and how far that
// is, or why it failed; and the runs that were opened before.
#pragma once

#include <QString>
#include <optional>

#include "base/result.h"
#include "gui/widgets/panes.h"
#include "gui/widgets/recent_list.h"

namespace dprof::widgets {

class OpeningPane : public Pane {
  Q_OBJECT

 public:
  explicit OpeningPane(Look& look, QWidget* parent = nullptr);

  void begin();                         // a run is being opened
  void show_run(const QString& about);  // which one: its name, ranks, hosts and size
  // Shows what is being read, and 0…1. False: it was shown before.
  bool show_progress(const QString& stage, double share);
  void fail(const Error& error);
  void end();  // a run is open

  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  [[nodiscard]] RecentList& recent() { return *recent_; }
  void show_recent_where(bool wanted) { recent_->show_where(wanted && !opening_); }

 private:
  [[nodiscard]] view::DrawList draw(int width, int height) const;

  Look& look_;
  RecentList* recent_;
  bool opening_ = false;
  QString about_;
  QString stage_;
  double share_ = 0;
  std::optional<Error> error_;
};

}  // namespace dprof::widgets
