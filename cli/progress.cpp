// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>

namespace dprof::cli {

void ProgressLine::show(std::string_view what, double share) {
  if (!console_.error_is_terminal() || Clock::now() < next_) return;
  next_ = Clock::now() + std::chrono::milliseconds(200);
  shown_ = true;
  const double percent = 100 * std::clamp(share, 0.0, 1.0);
  console_.print_error(fmt::format("\r\x1b[Kdprof: {:3.0f} %  {}", percent, what));
}

void ProgressLine::clear() {
  if (shown_) console_.print_error("\r\x1b[K");
  shown_ = false;
}

void ProgressLine::keep(std::string_view line) {
  // What took that long until now takes longer still.
  constexpr auto kQuick = std::chrono::milliseconds(300);
  if (!console_.error_is_terminal() || Clock::now() < begin_ + kQuick) return;
  clear();
  console_.message(line);
}

}  // namespace dprof::cli
