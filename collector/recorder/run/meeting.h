// SPDX-License-Identifier: Apache-2.0
// `RUN/recorders/meeting.json`: what the recorders of one run must agree on.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "collector/wire/layout.h"

namespace dprof::recorder {

// Held for moments by whoever changes the folder as a whole.
inline constexpr char kEnteringName[] = ".dprof.entering";
inline constexpr char kRecordersName[] = "recorders";

struct MeetingHost {
  std::string clock_id;
  wire::TickScale scale{};
};

// What the recorders of a job must agree on.
struct Meeting {
  std::string run_id, job, token;
  std::vector<std::string> seats;
  std::vector<MeetingHost> hosts;
  bool is_young = false;  // the job may still be starting
};

// Both while `kEnteringName` is held. Empty where there is none, or it makes no sense.
[[nodiscard]] std::optional<Meeting> read_meeting(const std::filesystem::path& folder);
Status write_meeting(const std::filesystem::path& folder, const Meeting& meeting);

}  // namespace dprof::recorder
