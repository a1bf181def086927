// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/run/meeting.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "collector/recorder/run/json_file.h"

namespace dprof::recorder {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr char kMeetingName[] = "meeting.json";
constexpr char kMeetingSchema[] = "dprof.meeting/1";

// How long after the last recorder joined another one of the same job may still join, even if the
// earlier ones have ended.
constexpr std::chrono::minutes kStarting{10};

}  // namespace

std::optional<Meeting> read_meeting(const std::filesystem::path& folder) {
  const fs::path path = folder / kRecordersName / kMeetingName;
  const ordered_json json = read_json(path);
  if (!json.is_object() || json.value("schema", ordered_json()) != kMeetingSchema) {
    return std::nullopt;
  }
  Meeting meeting;
  try {
    meeting.run_id = json.at("run_id");
    meeting.job = json.at("job");
    meeting.token = json.at("token");
    meeting.seats = json.at("seats").get<std::vector<std::string>>();
    for (const ordered_json& host : json.at("hosts")) {
      meeting.hosts.push_back(
          {host.at("clock_id"),
           {.tick0 = 0,
            .multiplier = host.at("tick_multiplier"),
            .shift = host.at("tick_shift"),
            .source = static_cast<wire::ClockSource>(host.at("tick_source").get<uint32_t>())}});
    }
  } catch (const ordered_json::exception&) {
    return std::nullopt;
  }
  // Our lock was created just now, on the same file system.
  std::error_code error;
  const fs::file_time_type now = fs::last_write_time(folder / kEnteringName, error);
  meeting.is_young = !error && now - fs::last_write_time(path, error) < kStarting && !error;
  return meeting;
}

Status write_meeting(const std::filesystem::path& folder, const Meeting& meeting) {
  ordered_json json{{"schema", kMeetingSchema}, {"run_id", meeting.run_id},
                    {"job", meeting.job},       {"token", meeting.token},
                    {"seats", meeting.seats},   {"hosts", ordered_json::array()}};
  for (const MeetingHost& host : meeting.hosts) {
    json["hosts"].push_back({{"clock_id", host.clock_id},
                             {"tick_multiplier", host.scale.multiplier},
                             {"tick_shift", host.scale.shift},
                             {"tick_source", static_cast<uint32_t>(host.scale.source)}});
  }
  return write_json(folder / kRecordersName / kMeetingName, json, FileAccess::kOwnerOnly,
                    "may the folder be written?");
}

}  // namespace dprof::recorder
