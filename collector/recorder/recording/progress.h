// SPDX-License-Identifier: Apache-2.0
// The one line on a terminal that says how the recording is going.
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

// Takes what stands on the terminal's line away.
inline constexpr char kClearLine[] = "\r\x1b[K";

// Writes to stderr; does nothing unless it is enabled. Whoever else writes there writes kClearLine
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
