// SPDX-License-Identifier: Apache-2.0
// A run opens with what its digests contain; its events follow, rank by rank, as far as they fit:
// those of the ranks that are looked at.
#pragma once

#include <QObject>
#include <set>

#include "gui/view/model/event_loading.h"
#include "gui/view/session/session.h"
#include "gui/widgets/worker.h"

namespace dprof::widgets {

// Threading  the user interface's thread.
class EventLoader : public QObject {
  Q_OBJECT

 public:
  EventLoader(view::Session& session, Worker& worker);

  // The memory that events may take.
  void set_budget(view::EventBudget budget) { budget_ = budget; }
  // Of a run that was opened: settled() says when what it opens with is there.
  void begin();
  // A model that is shown from memory has its events already.
  void forget();
  // The run was read again, or reading failed.
  void begin_anew();
  void set_paused(bool paused) { paused_ = paused; }
  // The ranks looked at may have changed.
  void next();

 signals:
  void loading(const QString& stage);
  void remarked(const QString& text);
  void changed();  // events came, or will not come
  void settled();

 private:
  void take(const view::Model& run, size_t rank_index, const Result<view::SharedEvents>& events);

  view::Session& session_;
  Worker& worker_;
  view::EventBudget budget_;
  std::set<size_t> failed_;  // rank indexes
  int64_t missing_ = 0;      // of ranks that are looked at, as it was said last
  bool active_ = false;
  bool paused_ = false;
  bool waits_ = false;     // for events
  bool settling_ = false;  // what a run opens with is being loaded
};

}  // namespace dprof::widgets
