// SPDX-License-Identifier: Apache-2.0
// The one line on a terminal that shows the recording's progress.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace dprof::recorder {

struct ProgressState {
  int64_t processes = 0;
  int64_t events = 0;
  int64_t lost = 0;
  int64_t bytes = 0;
  std::chrono::seconds since_start{};
};

// "dprof: 2 processes  1,234,567 events  0 lost  12.3 MB  0:12".
[[nodiscard]] std::string progress_text(const ProgressState& state);

// Clears the terminal's line.
inline constexpr char kClearLine[] = "\r\x1b[K";

// Writes to stderr; does nothing unless enabled. Other writers to stderr must write kClearLine
// first; the line comes back with the next show().
class ProgressLine {
 public:
  explicit ProgressLine(bool enabled) : enabled_(enabled) {}
  void show(const ProgressState& state);
  void clear();

 private:
  bool enabled_;
};

}  // namespace dprof::recorder
