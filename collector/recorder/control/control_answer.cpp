// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/control/control_answer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace dprof::recorder {
namespace {

using nlohmann::json;

std::string line_of(const json& reply) {
  return reply.dump(-1, ' ', false, json::error_handler_t::replace);
}

// `recording` if any process records; without a process, the state for the next one.
std::string_view state_of(const RecorderStatus& status) {
  const auto records = [](const ProcessStatus& process) {
    return process.capture.order.state == wire::CaptureState::kRecording;
  };
  if (!status.processes.empty()) {
    return std::ranges::any_of(status.processes, records) ? "recording" : "armed";
  }
  const bool armed = status.capture.window.kind == Window::Kind::kArmed;
  return status.capture.requested.value_or(!armed) ? "recording" : "armed";
}

json json_of_process(const ProcessStatus& process) {
  return {{"pid", process.pid},
          {"rank", process.rank ? json(*process.rank) : json()},
          {"state", word_of(process.capture.order.state)},
          {"detail", word_of(process.capture.order.detail)},
          {"kept_detail", word_of(process.capture.kept_detail)},
          {"overhead", process.capture.overhead},
          {"hangs", process.capture.hangs},
          {"events", process.events},
          {"lost", process.lost}};
}

}  // namespace

std::string render_status(const RecorderStatus& status) {
  json processes = json::array();
  double overhead = 0;
  for (const ProcessStatus& process : status.processes) {
    processes.push_back(json_of_process(process));
    overhead = std::max(overhead, process.capture.overhead);
  }
  const CaptureSettings& capture = status.capture;
  const std::string window = window_text(capture.window);
  return line_of({{"schema", "dprof.control/1"},
                  {"ok", true},
                  {"recorder", status.id},
                  {"host", status.host},
                  {"pid", status.pid},
                  {"state", state_of(status)},
                  {"detail", word_of(capture.detail)},
                  {"window", window.empty() ? json() : json(window)},
                  {"keep_seconds", capture.keep_s ? json(*capture.keep_s) : json()},
                  {"max_overhead", capture.max_overhead ? json(*capture.max_overhead) : json()},
                  {"overhead", overhead},
                  {"events", status.events},
                  {"lost", status.lost},
                  {"processes", processes}});
}

std::string render_refusal(const std::string& why) {
  return line_of({{"schema", "dprof.control/1"}, {"ok", false}, {"error", why}});
}

std::optional<CaptureRequest> capture_request_of(const ControlRequest& request) {
  using Kind = CaptureRequest::Kind;
  switch (request.action) {
    case ControlAction::kStart:
      return CaptureRequest{Kind::kStart};
    case ControlAction::kStop:
      return CaptureRequest{Kind::kStop};
    case ControlAction::kLevel:
      return CaptureRequest{Kind::kLevel, request.detail};
    case ControlAction::kTrigger:
      return CaptureRequest{Kind::kTrigger};
    case ControlAction::kStatus:
      break;
  }
  return std::nullopt;
}

}  // namespace dprof::recorder
