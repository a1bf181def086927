// SPDX-License-Identifier: Apache-2.0
// The figures of many events in docks: lists, stacks, durations, marks. They show the previous
// result until the new one has been computed elsewhere, so that no frame waits.
//
// Threading  the user interface's thread only, except for the computations.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "gui/view/drawing/counted.h"
#include "gui/view/figures/durations.h"
#include "gui/view/figures/event_list.h"
#include "gui/view/figures/flame.h"
#include "gui/view/figures/named_marks.h"
#include "gui/view/figures/what_if_controls.h"
#include "gui/view/model/model.h"

namespace dprof::view {

class CountedFigures {
 public:
  using FlameQuery = std::pair<EventQuery, FlameOrder>;

  // For another run, or one whose events have changed.
  void forget(std::shared_ptr<const Model> model);
  // From now on only small numbers of events are counted immediately.
  void defer() { defers_ = true; }

  [[nodiscard]] const EventList& events(const EventQuery& query) const;
  [[nodiscard]] const EventList& events_now(
      const EventQuery& query) const;  // however long it takes
  [[nodiscard]] const FlameTree& flame(const FlameQuery& query) const;
  [[nodiscard]] const Durations& durations(const EventQuery& query) const;
  // Empty until the events of that name are counted: the previous result can be another name's.
  [[nodiscard]] const NamedMarks& marks(const MarkQuery& query) const;

  // The predicted step with all these changes, and with each alone. The model supports replay.
  using Changes = std::vector<std::string>;
  [[nodiscard]] const WhatIfAnswer& what_if(const Changes& changes) const;
  [[nodiscard]] const WhatIfTrials& trials(const Changes& changes) const;

  // True if a previous answer is shown.
  [[nodiscard]] bool is_counting_what_if() const { return what_if_.wanted().has_value(); }
  [[nodiscard]] bool is_counting_trials() const { return trials_.wanted().has_value(); }
  [[nodiscard]] bool is_counting_events() const { return events_.wanted().has_value(); }
  [[nodiscard]] bool is_counting_flame() const { return flame_.wanted().has_value(); }
  [[nodiscard]] bool is_counting_durations() const { return durations_.wanted().has_value(); }

  // Call this on any thread, and pass its result here.
  using Count = std::function<std::function<void(CountedFigures&)>()>;
  // The next computation; nullopt = none, or the previous one is still running.
  [[nodiscard]] std::optional<Count> next_count();

 private:
  [[nodiscard]] bool is_quick(const EventQuery& query) const;
  template <typename Key, typename Value>
  Count begin_count(Counted<Key, Value> CountedFigures::*into,
                    Value (*make)(const RunEvents& events, const Key& key));

  [[nodiscard]] bool answers_quickly(size_t questions) const;
  template <typename Value>
  Count begin_answer(Counted<Changes, Value> CountedFigures::*into,
                     Value (*make)(const analyzer::WhatIfModel& model, const Changes& changes));

  std::shared_ptr<const Model> model_;
  mutable Counted<EventQuery, EventList> events_;
  mutable Counted<FlameQuery, FlameTree> flame_;
  mutable Counted<EventQuery, Durations> durations_;
  mutable Counted<MarkQuery, NamedMarks> marks_;
  mutable Counted<Changes, WhatIfAnswer> what_if_;
  mutable Counted<Changes, WhatIfTrials> trials_;
  bool defers_ = false;
  bool counts_ = false;       // a computation is running
  uint64_t counts_from_ = 0;  // incremented when running computations become obsolete
};

}  // namespace dprof::view
