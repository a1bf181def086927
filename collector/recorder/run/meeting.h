// SPDX-License-Identifier: Apache-2.0
// `RUN/recorders/meeting.json`: shared settings of the recorders of one run.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "collector/wire/layout.h"

namespace dprof::recorder {

// Held briefly by a recorder that changes the folder as a whole.
inline constexpr char kEnteringName[] = ".dprof.entering";
inline constexpr char kRecordersName[] = "recorders";

struct MeetingHost {
  std::string clock_id;
  wire::TickScale scale{};
};

// Settings that the recorders of a job share.
struct Meeting {
  std::string run_id, job, token;
  std::vector<std::string> seats;
  std::vector<MeetingHost> hosts;
  bool is_young = false;  // the job may still be starting
};

// Call both while holding `kEnteringName`. Empty if the file is missing or invalid.
[[nodiscard]] std::optional<Meeting> read_meeting(const std::filesystem::path& folder);
Status write_meeting(const std::filesystem::path& folder, const Meeting& meeting);

}  // namespace dprof::recorder
