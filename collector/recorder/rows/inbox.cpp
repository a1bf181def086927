// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/rows/inbox.h"

#include "collector/recorder/common/text.h"
#include "schema/diagnostics.h"

namespace dprof::recorder {
namespace {

struct WriteRow {
  TraceOutput& output;

  void operator()(const ClockReading& reading) const {
    output.append_numbered(schema::ClockSampleRow{
        .ticks = static_cast<int64_t>(reading.ticks),
        .realtime_ns = reading.realtime_ns,
        .monotonic_raw_ns = reading.monotonic_raw_ns,
        .width_ns = reading.width_ns,
        .device_id = std::nullopt,
        .device_ns = std::nullopt,
    });
  }
  void operator()(const SystemSample& sample) const {
    output.append_numbered(schema::SystemSampleRow{
        .time_ns = sample.time_ns,
        .kind_id = output.intern(sample.kind),
        .subject = sample.subject,
        .value = sample.value,
    });
  }
  void operator()(const RecorderDiagnostic& said) const {
    append_diagnostic(output, said.code, said.count, said.text);
  }
  void operator()(const TakenFrame& taken) const {
    const auto text = [&](const std::string& said) {
      return said.empty() ? std::nullopt : std::optional(output.intern(clean_text(said)));
    };
    output.append_numbered(schema::StackFrameRow{
        .time_ns = taken.time_ns,
        .os_tid = taken.os_tid,
        .thread_name_id = text(taken.thread),
        .kind = taken.kind,
        .frame = taken.frame,
        .function_id = output.intern(clean_text(taken.function)),
        .file_id = text(taken.file),
        .line = taken.line,
    });
  }
  template <typename Row>
  void operator()(const Row& row) const {
    output.append_numbered(row);
  }
};

}  // namespace

void Inbox::put(Measured measured) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= kMost) {
    ++dropped_;
    return;
  }
  waiting_.push_back(std::move(measured));
}

void Inbox::write_to(TraceOutput& output) {
  std::vector<Measured> waiting;
  int64_t dropped = 0;
  {
    const std::lock_guard lock(mutex_);
    waiting.swap(waiting_);
    std::swap(dropped, dropped_);
  }
  for (const Measured& measured : waiting) std::visit(WriteRow{output}, measured);
  if (dropped == 0) return;
  output.append(schema::LossRow{schema::Source::kRecorder, std::nullopt,
                                schema::LossReason::kInboxFull, dropped, std::nullopt,
                                std::nullopt});
}

void append_diagnostic(TraceOutput& output, std::string_view code, int64_t count,
                       const std::string& text) {
  const schema::DiagnosticKind& kind = schema::diagnostic_kind(code);
  output.append(
      schema::DiagnosticRow{std::string(code), kind.severity, count, output.intern(text)});
  if (kind.severity != schema::Severity::kInfo) output.note_trouble(code, text);
}

}  // namespace dprof::recorder
