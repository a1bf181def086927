// SPDX-License-Identifier: Apache-2.0
// The recorder's answers to `dprof ctl`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collector/recorder/control/capture_driver.h"
#include "collector/recorder/control/control.h"

namespace dprof::recorder {

// One recorded process, as `status` shows it.
struct ProcessStatus {
  int pid = 0;
  std::optional<int> rank;
  int64_t events = 0;
  int64_t lost = 0;
  CaptureDriver::Status capture;
};

struct RecorderStatus {
  std::string id;  // of the recorder
  std::string host;
  int pid = 0;
  CaptureSettings capture;  // as of now
  std::vector<ProcessStatus> processes;
  int64_t events = 0, lost = 0;  // ended processes included
};

// One line of JSON ("dprof.control/1").
[[nodiscard]] std::string render_status(const RecorderStatus& status);
[[nodiscard]] std::string render_refusal(const std::string& why);

// The request to pass to the recordings; empty for `status`.
[[nodiscard]] std::optional<CaptureRequest> capture_request_of(const ControlRequest& request);

}  // namespace dprof::recorder
