// SPDX-License-Identifier: Apache-2.0
// The dock SQL's statements: asked of the traces off the user interface's thread, one at a time.
#pragma once

#include <QObject>
#include <string>

#include "gui/view/session/session.h"
#include "gui/widgets/view_keeper.h"
#include "gui/widgets/worker.h"

namespace dprof::widgets {

// Threading  the user interface's thread.
class SqlAsking : public QObject {
  Q_OBJECT

 public:
  SqlAsking(view::Session& session, const ViewKeeper& views);

  // The statement in the dock's field.
  void ask();
  void cancel();
  // Another run is open: an answer is no longer wanted.
  void forget();
  [[nodiscard]] int pending() const { return worker_.pending(); }
  [[nodiscard]] const QString& stage() const { return stage_; }  // "" = nothing is asked

 signals:
  void progressed();
  void changed();  // what the session's SQL shows

 private:
  view::Session& session_;
  const ViewKeeper& views_;
  Worker worker_;  // of its own, so that a long statement keeps nothing else waiting
  QString stage_;
};

}  // namespace dprof::widgets
