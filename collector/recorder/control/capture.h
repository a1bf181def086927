// SPDX-License-Identifier: Apache-2.0
// Decides when to record what: windows of steps or seconds, requests of `dprof ctl`, the governor.
// Decides only; a process's CaptureDriver carries it out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collector/recorder/rows/steps.h"
#include "collector/wire/layout.h"

namespace dprof::recorder {

// The part of a run to record. A request of `dprof ctl` ends the window and counts from then on.
struct Window {
  enum class Kind {
    kAll,
    kSteps,
    kSeconds,  // since the first rank's first event
    kArmed,    // nothing before `dprof ctl RUN start`
  };
  Kind kind = Kind::kAll;
  int64_t begin = 0;             // of steps and seconds: half-open
  std::optional<int64_t> end;    // empty = to the end of the run
  std::optional<int64_t> every;  // the steps repeat every so many steps
};

// The requested content of a process's control page.
struct CaptureOrder {
  wire::CaptureState state = wire::CaptureState::kRecording;
  wire::DetailLevel detail = wire::DetailLevel::kStandard;
  uint32_t sources = ~0u;
  wire::CaptureCause cause = wire::CaptureCause::kStart;

  friend bool operator==(const CaptureOrder&, const CaptureOrder&) = default;
};

// Capture settings. The same for every process of a recorder, except for changes by `dprof ctl`
// since the start.
struct CaptureSettings {
  wire::DetailLevel detail = wire::DetailLevel::kStandard;
  Window window;
  std::optional<int64_t> origin_ns;    // the first rank's first event
  std::optional<int64_t> keep_s;       // flight recorder
  std::optional<double> max_overhead;  // share of the wall time
  std::optional<bool> requested;       // the last request of `dprof ctl`
};

struct CaptureRequest {
  enum class Kind { kStart, kStop, kLevel, kTrigger };
  Kind kind = Kind::kStart;
  wire::DetailLevel detail = wire::DetailLevel::kStandard;  // of kLevel
};

// "light", "standard", "full"; standard for anything else.
[[nodiscard]] wire::DetailLevel detail_level(std::string_view word);
[[nodiscard]] std::string_view word_of(wire::DetailLevel detail);
[[nodiscard]] std::string_view word_of(wire::CaptureState state);
// For meta `window` and `dprof ctl`: "steps 10:20 every 100", "seconds 5:", "armed"; "" =
// everything.
[[nodiscard]] std::string window_text(const Window& window);

// Rows that begin in here are kept; `end_ns` empty = not known yet.
struct KeptSpan {
  int64_t begin_ns = 0;
  std::optional<int64_t> end_ns;
  wire::CaptureCause opened = wire::CaptureCause::kWindow;
  wire::CaptureCause closed = wire::CaptureCause::kWindow;
};

// The plan of one process, a function of its steps, the time and the requests.
//
// Windows of steps are exact for the rank: from the beginning of step A to the end of step B-1.
// Outside of them the process goes on recording at `light`, so that steps are seen, and its rows
// are left out (state `armed`). The level is raised kLeadNs, but at least one step, before a window
// opens, and kept for kLingerNs after the last one, so that open events can end. After that, and
// outside of windows of seconds, the process records nothing at all.
//
// Threading  one thread.
class CapturePlan {
 public:
  static constexpr int64_t kLeadNs = 300'000'000;
  static constexpr int64_t kLingerNs = 1'000'000'000;

  // `first_event_ns`: of the process; the default origin of windows of seconds.
  CapturePlan(const CaptureSettings& settings, int64_t first_event_ns);

  void on_step(const StepEdge& edge);
  void on_time(int64_t now_ns);
  void on_request(const CaptureRequest& request, int64_t now_ns);
  // Lowers the level by one, for good: full, standard, light, nothing. False if it was at the
  // bottom.
  bool lower(wire::CaptureCause cause, int64_t now_ns);

  [[nodiscard]] const CaptureOrder& order() const { return order_; }
  // The level of kept rows.
  [[nodiscard]] wire::DetailLevel kept_detail() const;
  // True if rows may have to be left out. Fixed at the start.
  [[nodiscard]] bool gated() const { return gated_; }
  // True if a row that begins at that time is kept, as far as steps are known.
  [[nodiscard]] bool keeps(int64_t time_ns) const;
  [[nodiscard]] const std::vector<KeptSpan>& spans() const { return spans_; }

 private:
  [[nodiscard]] bool wanted(int64_t step) const;
  [[nodiscard]] bool wanted_soon() const;
  [[nodiscard]] bool no_more_windows() const;
  void open_span(int64_t begin_ns, wire::CaptureCause cause);
  void close_span(int64_t end_ns, wire::CaptureCause cause);
  void leave_window(int64_t now_ns);
  void decide(int64_t now_ns);
  void set(wire::CaptureState state, wire::DetailLevel detail, wire::CaptureCause cause);

  CaptureSettings settings_;  // its window is armed once requests count
  bool gated_ = false;
  bool requested_on_ = false;
  wire::DetailLevel most_ = wire::DetailLevel::kFull;  // set by the governor
  bool nothing_left_ = false;                          // the governor armed it
  CaptureOrder order_;
  wire::CaptureCause next_cause_ = wire::CaptureCause::kStart;
  std::vector<KeptSpan> spans_;
  int64_t span_step_ = -1;  // that opened the last span
  int64_t current_step_ = 0;
  std::optional<int64_t> step_begin_ns_;
  int64_t step_length_ns_ = 0;
  std::optional<int64_t> window_closed_ns_;
};

}  // namespace dprof::recorder
