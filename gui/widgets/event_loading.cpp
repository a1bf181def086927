// SPDX-License-Identifier: Apache-2.0
// A run opens with what its digests tell; its events follow, rank by rank, as far as they fit.
#include "gui/view/event_loading.h"

#include <fmt/format.h>

#include <utility>

#include "base/format.h"
#include "gui/view/texts.h"
#include "gui/widgets/main_window.h"
#include "gui/widgets/recent_runs.h"

namespace dprof::widgets {

void MainWindow::open_model(std::shared_ptr<const view::Model> model) {
  show_model(std::move(model));
  if (remembers_) remember_run(paths_);
  settling_ = true;
  loads_events_ = true;
  load_events();
}

void MainWindow::load_events() {
  if (!loads_events_ || loading_events_ || renewing_) return;
  const view::Model& model = session_.model();
  const std::vector<size_t> looked_at = session_.looked_at();
  const view::EventStep step =
      view::next_event_step(model, looked_at, failed_events_, event_budget_);
  for (const size_t rank : step.drop)
    session_.take_events(rank, std::make_shared<const view::RankEvents>());
  if (step.load) {
    loading_events_ = true;
    stage_ = tr("loading rank %1").arg(model.ranks[*step.load].rank);
    worker_.load_events(session_.shared_model(), *step.load);
    status_->refresh();
    return;
  }
  const int64_t missing = view::missing_events(model, looked_at);
  const bool is_news = std::exchange(missing_events_, missing) != missing;
  if (is_news && missing > 0 && failed_events_.empty()) {
    set_message(to_qstring(view::say_count(
        missing, "events of {} rank do not fit into {}: fold others, or give more with --memory",
        "events of {} ranks do not fit into {}: fold others, or give more with --memory", missing,
        format_bytes(event_budget_.bytes))));
  }
  if (settling_) settle();
}

void MainWindow::take_events(const view::Model& run, size_t rank_index,
                             const Result<view::SharedEvents>& events) {
  if (!session_.is_open() || &run != &session_.model()) return;
  loading_events_ = false;
  stage_.clear();
  if (events.ok()) {
    session_.take_events(rank_index, *events);
  } else {
    failed_events_.insert(rank_index);
    set_message(to_qstring(events.error().what));
  }
  refresh();
}

// What a run opens with, a finding's rows among it, can be chosen once its events are there; unless
// somebody has looked elsewhere meanwhile.
void MainWindow::settle() {
  settling_ = false;
  if (session_.saved_view() == kept_) {
    session_.open(session_.shared_model());
    recall_view();
  }
  refresh();
  emit settled();
}

}  // namespace dprof::widgets
