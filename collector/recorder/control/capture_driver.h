// SPDX-License-Identifier: Apache-2.0
// Carries out the plan of one process: its control page, rows to leave out, the flight recorder,
// the governor; and records in the trace what was captured when.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "collector/recorder/common/clock.h"
#include "collector/recorder/control/capture.h"
#include "collector/recorder/control/flight.h"
#include "collector/recorder/control/governor.h"
#include "collector/recorder/rows/drain.h"
#include "collector/recorder/rows/inbox.h"

namespace dprof::recorder {

// Cost of the process's hooks so far.
struct HookCost {
  int64_t calls = 0;  // records that were written or dropped, by slots
  int64_t timed = 0;
  int64_t ns = 0;  // estimate for all calls
};

// Reads the rings' counters and bounds implausible values. `record_cost_ns` is used for rings
// without a timed call.
[[nodiscard]] HookCost hook_cost(const wire::Mapping& mapping, const RunClock& clock,
                                 double record_cost_ns);

// Writes the control page: the fields, then the generation, then a wake-up.
void give_order(const wire::Mapping& mapping, const CaptureOrder& order);

// Threading  request() and status() from any thread, the rest from the recording's writer; the
//            constructor before that thread exists.
// Cost       some microseconds per pass, tens of them each second.
class CaptureDriver {
 public:
  struct Subject {
    int pid = 0;  // in the recorder's namespace, 0 = not known
    int64_t first_event_ns = 0;
    double record_cost_ns = 0;
  };
  struct Status {
    CaptureOrder order;
    wire::DetailLevel kept_detail = wire::DetailLevel::kStandard;
    double overhead = 0;  // share of the wall time, over the last second
    int64_t hangs = 0;
  };

  // `on_measured` receives diagnostics for the trace.
  CaptureDriver(const CaptureSettings& settings, const wire::Mapping& mapping,
                const RunClock& clock, Drain& drain, TraceOutput& output, const Subject& subject,
                std::function<void(Measured)> on_measured);

  void request(const CaptureRequest& request);
  [[nodiscard]] Status status() const;

  void before_pass();
  void after_pass();
  // `cpu_ns`: of the calling thread, so far.
  void before_commit(int64_t cpu_ns);
  // True if a commit is due even without a record.
  [[nodiscard]] bool waiting() const { return plan_.gated(); }
  // After the drain's own end: decides on the last rows.
  void finish(bool killed);
  [[nodiscard]] HookCost hooks() const {
    return hook_cost(mapping_, clock_, subject_.record_cost_ns);
  }

 private:
  void take_requests(int64_t now_ns);
  void order(int64_t now_ns);
  void record_spans(int64_t until_ns);
  void record_flight();
  void each_second(int64_t now_ns, int64_t cpu_ns);
  void govern(const CostSample& sample, int64_t now_ns);
  void dump(int64_t now_ns);
  [[nodiscard]] bool cores_are_shared() const;
  [[nodiscard]] int64_t last_record_ns() const;

  CaptureSettings settings_;
  wire::Mapping mapping_;
  const RunClock& clock_;
  Drain& drain_;
  TraceOutput& output_;
  Subject subject_;
  std::function<void(Measured)> on_measured_;
  CapturePlan plan_;
  CaptureOrder given_;
  std::optional<FlightRecorder> flight_;
  std::optional<HangWatch> hang_;
  std::optional<Governor> governor_;

  int64_t pass_began_ns_ = 0;
  int64_t known_until_ns_ = INT64_MIN;            // all records before it have been drained
  size_t begins_written_ = 0, ends_written_ = 0;  // spans
  std::optional<CostSample> last_sample_;         // running sums
  int64_t last_sample_ns_ = 0;

  mutable std::mutex mutex_;  // requests_, status_
  std::vector<CaptureRequest> requests_;
  Status status_;
};

}  // namespace dprof::recorder
