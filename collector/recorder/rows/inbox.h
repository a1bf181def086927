// SPDX-License-Identifier: Apache-2.0
// The recorder's own measurements for a trace, on their way to the thread that writes it.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "collector/recorder/common/clock.h"
#include "collector/recorder/rows/trace_output.h"

namespace dprof::recorder {

struct SystemSample {
  int64_t time_ns = 0;    // on the trace's axis
  std::string_view kind;  // a dotted name with its unit that outlives the inbox: "thread.cpu_ns"
  std::optional<int64_t> subject;
  int64_t value = 0;
};

struct RecorderDiagnostic {
  std::string_view code;  // of schema/diagnostics.h
  int64_t count = 1;
  std::string text;
};

// A frame of a stack taken from outside the process.
struct TakenFrame {
  int64_t time_ns = 0;
  std::optional<int64_t> os_tid;
  std::string thread;  // its name, "" = none
  schema::StackKind kind{};
  int64_t frame = 0;  // 0 = the innermost
  std::string function;
  std::string file;  // "" = not known
  std::optional<int64_t> line;
};

using Measured =
    std::variant<ClockReading, schema::ClockProbeRow, SystemSample, schema::MemorySampleRow,
                 schema::CaptureRow, RecorderDiagnostic, TakenFrame>;

// Threading  put() from any thread; write_to() from the trace's writer.
// Cost       a lock for each put(); nothing here is per event.
class Inbox {
 public:
  // Row ids are given when it is written. A full inbox (the writer is stuck) counts and drops.
  void put(Measured measured);
  void write_to(TraceOutput& output);

 private:
  static constexpr size_t kMost = 1 << 16;

  std::mutex mutex_;
  std::vector<Measured> waiting_;
  int64_t dropped_ = 0;
};

// A row of `diagnostic`, with the severity that the catalogue gives its code.
void append_diagnostic(TraceOutput& output, std::string_view code, int64_t count,
                       const std::string& text);

}  // namespace dprof::recorder
