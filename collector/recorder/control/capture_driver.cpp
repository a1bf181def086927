// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/control/capture_driver.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <utility>

#include "base/time.h"
#include "collector/wire/ring.h"

namespace dprof::recorder {
namespace {

using wire::CaptureCause;
using wire::CaptureState;

// The largest cost that a damaged counter can claim.
constexpr double kMostHookNs = 100'000;
constexpr uint64_t kMostCalls = uint64_t{1} << 50;
constexpr uint32_t kAllSources = 0xff;
constexpr int64_t kSampleNs = kNsPerSecond;

schema::CaptureRow row_of(int64_t time_ns, CaptureState state, wire::DetailLevel detail,
                          CaptureCause cause) {
  return {.id = 0,
          .time_ns = time_ns,
          .state = static_cast<schema::CaptureState>(state),
          .detail = static_cast<schema::DetailLevel>(detail),
          .sources = kAllSources,
          .cause = static_cast<schema::CaptureCause>(cause)};
}

// Sorts rows of several writers by time.
constexpr char kSortCapture[] =
    "CREATE TEMP TABLE sorted AS SELECT time_ns, state, detail, sources, cause FROM capture "
    "ORDER BY time_ns, id;DELETE FROM capture;INSERT INTO capture (id, time_ns, state, detail, sources, cause) "
    "SELECT rowid, time_ns, state, detail, sources, cause FROM temp.sorted;DROP TABLE temp.sorted;";

}  // namespace

HookCost hook_cost(const wire::Mapping& mapping, const RunClock& clock, double record_cost_ns) {
  const uint32_t rings =
      std::min(mapping.header()->rings_taken.load(std::memory_order_acquire), wire::kMaxRings);
  HookCost cost;
  double ns = 0;
  for (uint32_t i = 0; i < rings; ++i) {
    const wire::RingShared& ring = *mapping.ring(i);
    const uint64_t calls = std::min(kMostCalls, ring.head.load(std::memory_order_relaxed)) +
                           std::min(kMostCalls, ring.dropped.count.load(std::memory_order_relaxed));
    const uint64_t timed = ring.hooks.timed.load(std::memory_order_relaxed);
    const uint64_t ticks = ring.hooks.timed_ticks.load(std::memory_order_relaxed);
    double each_ns = record_cost_ns;
    if (timed != 0) {
      each_ns = std::min(kMostHookNs, static_cast<double>(ticks) / static_cast<double>(timed) *
                                          double{kNsPerSecond} / clock.ticks_per_second());
    }
    cost.calls += static_cast<int64_t>(calls);
    cost.timed += static_cast<int64_t>(std::min(kMostCalls, timed));
    ns += each_ns * static_cast<double>(calls);
  }
  cost.ns = static_cast<int64_t>(ns);
  return cost;
}

void give_order(const wire::Mapping& mapping, const CaptureOrder& order) {
  wire::ControlPage& control = *mapping.control();
  control.state.store(static_cast<uint32_t>(order.state), std::memory_order_relaxed);
  control.detail.store(static_cast<uint32_t>(order.detail), std::memory_order_relaxed);
  control.sources.store(order.sources, std::memory_order_relaxed);
  control.cause.store(static_cast<uint32_t>(order.cause), std::memory_order_relaxed);
  control.generation.fetch_add(1, std::memory_order_release);
  wire::futex_wake(control.generation);
}

CaptureDriver::CaptureDriver(const CaptureSettings& settings, const wire::Mapping& mapping,
                             const RunClock& clock, Drain& drain, TraceOutput& output,
                             const Subject& subject, std::function<void(Measured)> on_measured)
    : settings_(settings),
      mapping_(mapping),
      clock_(clock),
      drain_(drain),
      output_(output),
      subject_(subject),
      on_measured_(std::move(on_measured)),
      plan_(settings, subject.first_event_ns) {
  if (settings.keep_s) {
    const int64_t keep_ns = *settings.keep_s * kNsPerSecond;
    flight_.emplace(keep_ns, output);
    hang_.emplace(HangWatch::limit_of(keep_ns));
    output.set_meta("keep_seconds", std::to_string(*settings.keep_s));
  }
  if (settings.max_overhead) {
    governor_.emplace(*settings.max_overhead);
    output.set_meta("max_overhead", fmt::format("{}", *settings.max_overhead));
  }
  if (const std::string window = window_text(settings.window); !window.empty()) {
    output.set_meta("window", window);
  }
  if (plan_.gated()) output.hold_rows([this](int64_t begin_ns) { return plan_.keeps(begin_ns); });
  drain.watch_steps([this](const StepEdge& edge) {
    plan_.on_step(edge);
    if (hang_ && edge.end_ns) hang_->on_step_end(*edge.end_ns);
  });
  plan_.on_time(clock.now().ns);
  given_ = plan_.order();
  if (given_.state != CaptureState::kRecording) drain.resume();
  status_.order = given_;
  status_.kept_detail = plan_.kept_detail();
  give_order(mapping, given_);
}

void CaptureDriver::request(const CaptureRequest& request) {
  const std::lock_guard lock(mutex_);
  requests_.push_back(request);
}

CaptureDriver::Status CaptureDriver::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

void CaptureDriver::take_requests(int64_t now_ns) {
  std::vector<CaptureRequest> taken;
  {
    const std::lock_guard lock(mutex_);
    taken.swap(requests_);
  }
  for (const CaptureRequest& request : taken) {
    if (request.kind == CaptureRequest::Kind::kTrigger) {
      if (flight_) dump(now_ns);
      continue;
    }
    plan_.on_request(request, now_ns);
    order(now_ns);
  }
}

// Rows up to now are kept for good.
void CaptureDriver::dump(int64_t now_ns) {
  drain_.flush();
  flight_->pin(now_ns);
  output_.append_capture(row_of(now_ns, given_.state, plan_.kept_detail(), CaptureCause::kTrigger));
}

void CaptureDriver::order(int64_t now_ns) {
  plan_.on_time(now_ns);
  const CaptureOrder& wanted = plan_.order();
  if (wanted == given_) return;
  if (wanted.state == CaptureState::kRecording && given_.state != CaptureState::kRecording) {
    drain_.resume();
  }
  given_ = wanted;
  output_.set_meta("detail", word_of(plan_.kept_detail()));
  give_order(mapping_, given_);
  const std::lock_guard lock(mutex_);
  status_.order = given_;
  status_.kept_detail = plan_.kept_detail();
}

void CaptureDriver::before_pass() { pass_began_ns_ = clock_.now().ns; }

void CaptureDriver::after_pass() {
  take_requests(pass_began_ns_);
  order(pass_began_ns_);
}

int64_t CaptureDriver::last_record_ns() const {
  return drain_.totals().last_ns.value_or(subject_.first_event_ns);
}

void CaptureDriver::before_commit(int64_t cpu_ns) {
  if (plan_.gated()) {
    // Records read late (by a thread descheduled between reading its clock and writing its record)
    // arrive with one more commit.
    record_spans(known_until_ns_);
    output_.decide(known_until_ns_);
    known_until_ns_ = pass_began_ns_;
  }
  if (flight_) {
    flight_->on_time(last_record_ns());
    if (hang_->on_time(pass_began_ns_, drain_.oldest_open_collective_ns())) {
      dump(pass_began_ns_);
      const std::lock_guard lock(mutex_);
      ++status_.hangs;
    }
  }
  if (pass_began_ns_ - last_sample_ns_ >= kSampleNs) each_second(pass_began_ns_, cpu_ns);
}

void CaptureDriver::each_second(int64_t now_ns, int64_t cpu_ns) {
  const CostSample sums{now_ns, hooks().ns, cores_are_shared() ? cpu_ns : 0, drain_.totals().lost};
  last_sample_ns_ = now_ns;
  if (last_sample_) {
    const CostSample& before = *last_sample_;
    const CostSample sample{sums.wall_ns - before.wall_ns, sums.hook_ns - before.hook_ns,
                            std::max<int64_t>(0, sums.recorder_cpu_ns - before.recorder_cpu_ns),
                            sums.lost - before.lost};
    {
      const std::lock_guard lock(mutex_);
      status_.overhead = cost_of(sample);
    }
    if (governor_) govern(sample, now_ns);
  }
  last_sample_ = sums;
}

void CaptureDriver::govern(const CostSample& sample, int64_t now_ns) {
  const std::optional<CaptureCause> cause = governor_->on_sample(sample);
  if (!cause) return;
  const std::string_view level = word_of(plan_.kept_detail());
  if (!plan_.lower(*cause, now_ns)) return;
  order(now_ns);
  const std::string_view now =
      given_.state == CaptureState::kArmed ? "nothing" : word_of(plan_.kept_detail());
  std::string why = "records were still being lost";
  if (*cause == CaptureCause::kGovernor) {
    why = fmt::format("recording cost {:.2f} % of the time, {:.2f} % are allowed",
                      100 * cost_of(sample), 100 * governor_->limit());
  }
  on_measured_(
      RecorderDiagnostic{"governor", 1, fmt::format("{} was lowered to {}: {}", level, now, why)});
}

bool CaptureDriver::cores_are_shared() const {
  cpu_set_t own, theirs, both;
  if (subject_.pid == 0 || sched_getaffinity(0, sizeof own, &own) != 0 ||
      sched_getaffinity(subject_.pid, sizeof theirs, &theirs) != 0) {
    return true;
  }
  CPU_AND(&both, &own, &theirs);
  return CPU_COUNT(&both) != 0;
}

void CaptureDriver::record_spans(int64_t until_ns) {
  const std::vector<KeptSpan>& spans = plan_.spans();
  const wire::DetailLevel detail = plan_.kept_detail();
  for (; begins_written_ < spans.size(); ++begins_written_) {
    const KeptSpan& span = spans[begins_written_];
    if (span.begin_ns >= until_ns) break;
    output_.append_capture(row_of(span.begin_ns, CaptureState::kRecording, detail, span.opened));
  }
  for (; ends_written_ < begins_written_; ++ends_written_) {
    const KeptSpan& span = spans[ends_written_];
    if (!span.end_ns || *span.end_ns >= until_ns) break;
    output_.append_capture(row_of(*span.end_ns, CaptureState::kArmed, detail, span.closed));
  }
}

// Writes the flight recorder's kept spans as rows of `capture`.
void CaptureDriver::record_flight() {
  std::string inside = "0";
  const std::vector<KeptSpan>& spans = flight_->spans();
  for (size_t i = 0; i < spans.size(); ++i) {
    const KeptSpan& span = spans[i];
    inside += fmt::format(" OR (time_ns >= {} AND time_ns <= {})", span.begin_ns, *span.end_ns);
    if (span.begin_ns > subject_.first_event_ns) {
      output_.append_capture(row_of(span.begin_ns, CaptureState::kRecording, plan_.kept_detail(),
                                    CaptureCause::kWindow));
    }
    if (i + 1 < spans.size()) {
      output_.append_capture(
          row_of(*span.end_ns, CaptureState::kArmed, plan_.kept_detail(), CaptureCause::kWindow));
    }
  }
  output_.change(fmt::format("UPDATE capture SET state = {} WHERE state = {} AND NOT ({})",
                             static_cast<int>(CaptureState::kArmed),
                             static_cast<int>(CaptureState::kRecording), inside));
}

void CaptureDriver::finish(bool killed) {
  if (plan_.gated()) {
    record_spans(INT64_MAX);
    output_.decide(INT64_MAX);
  }
  if (flight_) {
    flight_->finish(last_record_ns(), killed);
    if (killed) {
      output_.append_capture(
          row_of(last_record_ns(), given_.state, plan_.kept_detail(), CaptureCause::kTrigger));
    }
    record_flight();
  }
  if (plan_.gated() || flight_) {
    output_.change(kSortCapture);
    if (output_.left_out() > 0) {
      append_diagnostic(output_, "capture_window", 1,
                        flight_ ? fmt::format("the last {} seconds", *settings_.keep_s)
                                : window_text(settings_.window));
    }
  }
  output_.commit();
}

}  // namespace dprof::recorder
