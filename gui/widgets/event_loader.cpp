// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/event_loader.h"

#include <fmt/format.h>

#include <utility>

#include "base/format.h"
#include "gui/view/drawing/texts.h"
#include "gui/widgets/look.h"
#include "gui/widgets/panes.h"

namespace dprof::widgets {

EventLoader::EventLoader(view::Session& session, Worker& worker)
    : session_(session), worker_(worker) {
  connect(&worker_, &Worker::events_loaded, this,
          [this](const std::shared_ptr<const view::Model>& run, size_t rank_index,
                 const Result<view::SharedEvents>& events) { take(*run, rank_index, events); });
}

void EventLoader::forget() {
  active_ = waits_ = settling_ = false;
  missing_ = 0;
  failed_.clear();
}

void EventLoader::begin() {
  forget();
  active_ = settling_ = true;
  next();
}

void EventLoader::begin_anew() {
  waits_ = false;
  failed_.clear();
}

void EventLoader::next() {
  if (!active_ || waits_ || paused_) return;
  const view::Model& model = session_.model();
  const std::vector<size_t> looked_at = session_.looked_at();
  const view::EventStep step = view::next_event_step(model, looked_at, failed_, budget_);
  for (const size_t rank : step.drop)
    session_.take_events(rank, std::make_shared<const view::RankEvents>());
  if (step.load) {
    waits_ = true;
    worker_.load_events(session_.shared_model(), *step.load);
    emit loading(tr("loading rank %1").arg(model.ranks[*step.load].rank));
    return;
  }
  const int64_t missing = view::missing_events(model, looked_at);
  const bool is_news = std::exchange(missing_, missing) != missing;
  if (is_news && missing > 0 && failed_.empty()) {
    emit remarked(to_qstring(view::say_count(
        missing, "events of {} rank do not fit into {}: fold others, or raise --memory",
        "events of {} ranks do not fit into {}: fold others, or raise --memory", missing,
        format_bytes(budget_.bytes))));
  }
  if (std::exchange(settling_, false)) emit settled();
}

void EventLoader::take(const view::Model& run, size_t rank_index,
                       const Result<view::SharedEvents>& events) {
  if (!session_.is_open() || &run != &session_.model()) return;
  waits_ = false;
  emit loading({});
  if (events.ok()) {
    session_.take_events(rank_index, *events);
  } else {
    failed_.insert(rank_index);
    emit remarked(to_qstring(events.error().what));
  }
  emit changed();
}

}  // namespace dprof::widgets
