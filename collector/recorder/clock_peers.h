// SPDX-License-Identifier: Apache-2.0
// Meets the other recorders of the run and exchanges four-timestamp probes with them over UDP.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "collector/recorder/clock.h"
#include "collector/recorder/inbox.h"
#include "collector/recorder/recorder_file.h"

namespace dprof::recorder {

struct PeerOptions {
  std::filesystem::path run;  // where recorders announce themselves
  std::string meet;           // HOST:PORT, "" = by the run folder
};

// Threading  has a thread of its own, which answers probes and does nothing else meanwhile;
//            `deliver` is called from it.
class ClockPeers {
 public:
  // Fills in address, probe_port of `self`.
  static Result<std::unique_ptr<ClockPeers>> start(
      const RunClock& clock, const PeerOptions& options, RecorderFile& self,
      std::function<void(const schema::ClockProbeRow&)> deliver);
  virtual ~ClockPeers() = default;

  // The last burst, then the end of the thread.
  virtual void stop() = 0;
  // Recorders that answered.
  [[nodiscard]] virtual int met() const = 0;
};

}  // namespace dprof::recorder
