// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/control/capture.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/time.h"
#include "schema/generated/rows.h"

namespace dprof::recorder {

using wire::CaptureCause;
using wire::CaptureState;
using wire::DetailLevel;

DetailLevel detail_level(std::string_view word) {
  if (word == "light") return DetailLevel::kLight;
  return word == "full" ? DetailLevel::kFull : DetailLevel::kStandard;
}

// The wire's numbers are those of the trace.
std::string_view word_of(DetailLevel detail) {
  static_assert(static_cast<int64_t>(DetailLevel::kLight) ==
                    static_cast<int64_t>(schema::DetailLevel::kLight) &&
                static_cast<int64_t>(DetailLevel::kFull) ==
                    static_cast<int64_t>(schema::DetailLevel::kFull));
  return schema::word_of(static_cast<schema::DetailLevel>(detail));
}

std::string_view word_of(CaptureState state) {
  static_assert(static_cast<int64_t>(CaptureState::kOff) ==
                    static_cast<int64_t>(schema::CaptureState::kOff) &&
                static_cast<int64_t>(CaptureState::kStop) ==
                    static_cast<int64_t>(schema::CaptureState::kStopped));
  return schema::word_of(static_cast<schema::CaptureState>(state));
}

std::string window_text(const Window& window) {
  if (window.kind == Window::Kind::kAll) return "";
  if (window.kind == Window::Kind::kArmed) return "armed";
  return fmt::format("{} {}:{}{}", window.kind == Window::Kind::kSteps ? "steps" : "seconds",
                     window.begin, window.end ? std::to_string(*window.end) : std::string(),
                     window.every ? fmt::format(" every {}", *window.every) : std::string());
}

CapturePlan::CapturePlan(const CaptureSettings& settings, int64_t first_event_ns)
    : settings_(settings) {
  Window& window = settings_.window;
  if (settings.requested) {
    window.kind = Window::Kind::kArmed;
    requested_on_ = *settings.requested;
    next_cause_ = CaptureCause::kRequest;
  } else if (window.kind == Window::Kind::kSeconds) {
    const int64_t origin_ns = settings.origin_ns.value_or(first_event_ns);
    KeptSpan span;
    span.begin_ns = origin_ns + window.begin * kNsPerSecond;
    if (window.end) span.end_ns = origin_ns + *window.end * kNsPerSecond;
    spans_.push_back(span);
  }
  gated_ = window.kind != Window::Kind::kAll && !requested_on_;
  decide(first_event_ns);
}

bool CapturePlan::wanted(int64_t step) const {
  const Window& window = settings_.window;
  if (step < window.begin) return false;
  if (!window.end) return true;
  const int64_t distance = step - window.begin;
  return (window.every ? distance % *window.every : distance) < *window.end - window.begin;
}

bool CapturePlan::wanted_soon() const {
  const Window& window = settings_.window;
  const int64_t most = window.every.value_or(INT64_MAX);
  const int64_t length = std::max<int64_t>(step_length_ns_, 1);
  const int64_t ahead = step_length_ns_ == 0 ? 1 : 1 + kLeadNs / length;
  for (int64_t step = current_step_; step <= current_step_ + std::min(ahead, most); ++step) {
    if (wanted(step)) return true;
    if (step < window.begin) {  // nothing before it
      return window.begin <= current_step_ + ahead;
    }
    if (!window.every) return false;
  }
  return false;
}

bool CapturePlan::no_more_windows() const {
  const Window& window = settings_.window;
  return !window.every && window.end && current_step_ >= *window.end;
}

void CapturePlan::open_span(int64_t begin_ns, CaptureCause cause) {
  window_closed_ns_.reset();
  if (!spans_.empty() && !spans_.back().end_ns) return;
  spans_.push_back({begin_ns, std::nullopt, cause, CaptureCause::kWindow});
}

void CapturePlan::close_span(int64_t end_ns, CaptureCause cause) {
  if (spans_.empty() || spans_.back().end_ns) return;
  spans_.back().end_ns = std::max(end_ns, spans_.back().begin_ns);
  spans_.back().closed = cause;
}

void CapturePlan::on_step(const StepEdge& edge) {
  if (settings_.window.kind != Window::Kind::kSteps) return;
  if (edge.end_ns) {
    current_step_ = edge.index + 1;
    if (!wanted(current_step_)) close_span(*edge.end_ns, CaptureCause::kWindow);
    if (no_more_windows() && !window_closed_ns_) window_closed_ns_ = *edge.end_ns;
    return;
  }
  if (step_begin_ns_ && edge.index == current_step_ && edge.start_ns > *step_begin_ns_) {
    step_length_ns_ = edge.start_ns - *step_begin_ns_;
  }
  step_begin_ns_ = edge.start_ns;
  current_step_ = edge.index;
  if (!wanted(edge.index)) {
    close_span(edge.start_ns, CaptureCause::kWindow);
    return;
  }
  const bool open = !spans_.empty() && !spans_.back().end_ns;
  // The step that opened the window begins again: a marker replaced an optimizer's end as its
  // beginning.
  if (open && span_step_ == edge.index) spans_.back().begin_ns = edge.start_ns;
  if (open) return;
  span_step_ = edge.index;
  open_span(edge.start_ns, CaptureCause::kWindow);
}

void CapturePlan::on_time(int64_t now_ns) { decide(now_ns); }

// From now on only requests count. An open window of seconds stays open, without an end.
void CapturePlan::leave_window(int64_t now_ns) {
  if (settings_.window.kind == Window::Kind::kSeconds) {
    KeptSpan& span = spans_.back();
    if (now_ns < span.begin_ns) {
      spans_.clear();
    } else if (!span.end_ns || now_ns < *span.end_ns) {
      span.end_ns.reset();
    }
  }
  settings_.window.kind = Window::Kind::kArmed;
}

void CapturePlan::on_request(const CaptureRequest& request, int64_t now_ns) {
  next_cause_ = CaptureCause::kRequest;
  switch (request.kind) {
    case CaptureRequest::Kind::kStart:
      leave_window(now_ns);
      requested_on_ = true;
      nothing_left_ = false;
      if (gated_) open_span(now_ns, CaptureCause::kRequest);
      break;
    case CaptureRequest::Kind::kStop:
      leave_window(now_ns);
      requested_on_ = false;
      if (gated_) close_span(now_ns, CaptureCause::kRequest);
      break;
    case CaptureRequest::Kind::kLevel:
      settings_.detail = request.detail;
      most_ = DetailLevel::kFull;
      nothing_left_ = false;
      break;
    case CaptureRequest::Kind::kTrigger:
      next_cause_ = order_.cause;
      return;
  }
  decide(now_ns);
}

bool CapturePlan::lower(CaptureCause cause, int64_t now_ns) {
  if (nothing_left_ || order_.state != CaptureState::kRecording) return false;
  next_cause_ = cause;
  const DetailLevel now = kept_detail();
  if (now == DetailLevel::kLight) {
    nothing_left_ = true;
    if (gated_) close_span(now_ns, cause);
  } else {
    most_ = now == DetailLevel::kFull ? DetailLevel::kStandard : DetailLevel::kLight;
  }
  decide(now_ns);
  return true;
}

DetailLevel CapturePlan::kept_detail() const { return std::min(settings_.detail, most_); }

bool CapturePlan::keeps(int64_t time_ns) const {
  if (!gated_) return true;
  const auto after = std::ranges::upper_bound(spans_, time_ns, {}, &KeptSpan::begin_ns);
  if (after == spans_.begin()) return false;
  const KeptSpan& span = *std::prev(after);
  return !span.end_ns || time_ns < *span.end_ns;
}

void CapturePlan::set(CaptureState state, DetailLevel detail, CaptureCause cause) {
  if (order_.state == state && order_.detail == detail) return;
  order_.state = state;
  order_.detail = detail;
  order_.cause = cause;
}

void CapturePlan::decide(int64_t now_ns) {
  const CaptureCause cause = next_cause_;
  next_cause_ = CaptureCause::kWindow;
  const DetailLevel detail = kept_detail();
  if (nothing_left_) return set(CaptureState::kArmed, detail, cause);
  switch (settings_.window.kind) {
    case Window::Kind::kAll:
      return set(CaptureState::kRecording, detail, cause);
    case Window::Kind::kArmed:
      return set(requested_on_ ? CaptureState::kRecording : CaptureState::kArmed, detail, cause);
    case Window::Kind::kSeconds: {
      const KeptSpan& span = spans_.back();
      const bool on =
          now_ns >= span.begin_ns - kLeadNs && (!span.end_ns || now_ns < *span.end_ns + kLingerNs);
      return set(on ? CaptureState::kRecording : CaptureState::kArmed, detail, cause);
    }
    case Window::Kind::kSteps:
      break;
  }
  if (window_closed_ns_ && now_ns >= *window_closed_ns_ + kLingerNs) {
    return set(CaptureState::kArmed, detail, cause);
  }
  set(CaptureState::kRecording, wanted_soon() ? detail : DetailLevel::kLight, cause);
}

}  // namespace dprof::recorder
