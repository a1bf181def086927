// SPDX-License-Identifier: Apache-2.0
// Shown while no run is open: how one is opened, which one is being opened and how far that
// is, or why it failed; and the runs that were opened before.
#pragma once

#include <QString>
#include <optional>

#include "analyzer/report/first_look.h"
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
  // Shows what is known before the whole analysis.
  void show_first(const analyzer::FirstLook& look);
  void fail(const Error& error);
  void end();  // a run is open

  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  [[nodiscard]] view::DrawList draw(int width, int height) const;
  [[nodiscard]] bool has_first_look() const { return look_at_run_.has_value(); }
  [[nodiscard]] RecentList& recent() { return *recent_; }
  void show_recent_where(bool wanted) { recent_->show_where(wanted && !opening_); }

 private:
  Look& look_;
  RecentList* recent_;
  bool opening_ = false;
  QString about_;
  QString stage_;
  double share_ = 0;
  std::optional<analyzer::FirstLook> look_at_run_;
  std::optional<Error> error_;
};

}  // namespace dprof::widgets
