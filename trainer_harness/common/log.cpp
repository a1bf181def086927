// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/common/log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>

namespace dprof::trainer_harness {

void Log::info(std::string_view message) const {
  if (!speaks_) return;
  const auto now = std::chrono::system_clock::now();
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()) % 1000;
  fmt::print("{:%H:%M:%S}.{:03} - dprof-trainer - INFO - {}\n",
             fmt::localtime(std::chrono::system_clock::to_time_t(now)), ms.count(), message);
  std::fflush(stdout);  // for pipes too, so that a killed rank's last line is not lost
}

void log_error(std::string_view message) { fmt::print(stderr, "dprof-trainer: {}\n", message); }

}  // namespace dprof::trainer_harness
