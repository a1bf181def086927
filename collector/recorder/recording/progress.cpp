// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/recording/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/format.h"

namespace dprof::recorder {
namespace {

void write_to_terminal(const std::string& text) {
  // If the terminal cannot be written to, the line is not missed.
  [[maybe_unused]] const ssize_t put = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

std::string progress_text(const ProgressState& state) {
  const int64_t seconds = state.since_start.count();
  return fmt::format("dprof: {} {}  {} events  {} lost  {}  {}:{:02}", state.processes,
                     state.processes == 1 ? "process" : "processes", format_count(state.events),
                     format_count(state.lost), format_bytes(state.bytes), seconds / 60,
                     seconds % 60);
}

void ProgressLine::show(const ProgressState& state) {
  if (enabled_) write_to_terminal(kClearLine + progress_text(state));
}

void ProgressLine::clear() {
  if (enabled_) write_to_terminal(kClearLine);
}

}  // namespace dprof::recorder
