// SPDX-License-Identifier: Apache-2.0
// The other recorders of the run, as seen by the loop of one recording: how to meet them, and their
// clock measurements.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "collector/recorder/clocks/clock_peers.h"
#include "collector/recorder/clocks/meeting_point.h"
#include "collector/recorder/common/clock.h"
#include "collector/recorder/ranks/job.h"
#include "collector/recorder/run/run_folder.h"

namespace dprof::recorder {

// Threading  one thread.
class Peers {
 public:
  // `--meet` ("" = by the run folder alone). If another recorder listens, waits for its answer, at
  // most 10 s: the run's id must be known before anything is recorded. `key_file`: see
  // read_meet_secret().
  static Result<Peers> meet(const std::string& where, const std::filesystem::path& key_file,
                            const Job& job);

  // The id of the met run; "" = this recorder or its folder decides.
  [[nodiscard]] std::string run_id() const { return met_ ? met_->run_id : std::string(); }

  // Starts to answer and to send probes. A lone recorder opens no port.
  void start(const RunClock& clock, const RunFolder& folder, const Variables& variables);
  // This recorder's description for others, and writing it into the run folder.
  [[nodiscard]] RecorderFile& self() { return self_; }
  [[nodiscard]] Status announce() const;

  // Shows that this recorder lives, and looks for a recorder to probe. Call each second.
  void tick(RunFolder& folder);
  // A trace is about to end: one more burst. At most once a second, at most 100 ms.
  void before_end();
  std::vector<schema::ClockProbeRow> take_probes();

  // The reason why clocks of other hosts are unknown although they should be known; `others`: the
  // job has ranks that were not started here.
  [[nodiscard]] std::optional<std::string> complaint(bool others) const;

 private:
  std::string where_;
  std::optional<MeetingPoint> point_;
  std::optional<MeetPacket> met_;
  std::filesystem::path folder_;
  RecorderFile self_;
  std::unique_ptr<ClockPeers> clocks_;
  std::optional<std::string> failure_;
  std::chrono::steady_clock::time_point next_last_burst_{};
  static constexpr std::chrono::seconds kFirstLookPause{1};
  std::chrono::steady_clock::time_point next_look_{};
  std::chrono::seconds look_pause_{kFirstLookPause};
};

}  // namespace dprof::recorder
