// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/control/control_client.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "collector/recorder/control/control.h"
#include "collector/recorder/run/recorder_file.h"
#include "collector/recorder/run/run_folder.h"

namespace dprof::recorder {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::chrono::milliseconds kAnswerPatience{5000};

Failure gone(const RecorderFile& file, std::string_view why) {
  return fail(
      Code::kNotFound,
      fmt::format("the recorder on {} (process {}) does not answer: {}", file.host, file.pid, why),
      "if it was killed, `dprof recover RUN` finishes its traces");
}

Result<std::string> ask(const RecorderFile& file, std::string_view request) {
  const Result<std::string> reply = ask_recorder(file.control_socket, request, kAnswerPatience);
  if (!reply.ok()) return gone(file, reply.error().what);
  const json read = json::parse(*reply, nullptr, false);
  const auto field = [&](const char* key) {
    return read.is_object() ? read.value(key, json()) : json();
  };
  if (field("schema") != "dprof.control/1") return gone(file, "another program has its socket");
  if (field("ok") != true) {
    const json why = field("error");
    return fail(Code::kUsage,
                fmt::format("the recorder on {} refuses: {}", file.host,
                            why.is_string() ? why.get<std::string>() : std::string("no reason")));
  }
  if (field("recorder") != file.id) return gone(file, "another recorder has its socket");
  return reply;
}

}  // namespace

Result<ControlReplies> ask_recorders(const fs::path& run, std::string_view request) {
  std::error_code error;
  if (!fs::is_directory(run, error)) {
    return fail(Code::kNotFound, fmt::format("{}: no such folder", run.string()),
                "give the run's folder, as `dprof record -o RUN` has it");
  }
  ControlReplies all;
  const std::string here = host_name();
  const std::vector<RecorderFile> files = read_recorder_files(run);
  for (const RecorderFile& file : files) {
    if (file.host != here) {
      all.elsewhere.push_back(file.host);
      continue;
    }
    if (file.control_socket.empty()) continue;
    Result<std::string> reply = ask(file, request);
    if (!reply.ok()) return fail(reply.error());
    all.replies.push_back(*std::move(reply));
  }
  std::ranges::sort(all.elsewhere);
  all.elsewhere.erase(std::unique(all.elsewhere.begin(), all.elsewhere.end()), all.elsewhere.end());
  if (!all.replies.empty()) return all;
  if (!all.elsewhere.empty()) {
    return fail(Code::kUsage,
                fmt::format("{} is recorded on {}, not on this host ({})", run.string(),
                            fmt::join(all.elsewhere, ", "), here),
                "run `dprof ctl` there: recorders are asked on their own host only");
  }
  return fail(Code::kNotFound, fmt::format("{}: no recorder is writing to it", run.string()),
              "`dprof ctl` reaches a run only while `dprof record` works");
}

}  // namespace dprof::recorder
