// SPDX-License-Identifier: Apache-2.0
// What is recorded when: windows of steps or seconds, requests of `dprof ctl`, the overhead
// governor, the flight recorder's triggers. Decides; the sessions carry it out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "collector/recorder/record.h"
#include "collector/wire/layout.h"

namespace dprof::recorder {

// What a process's control page is to say.
struct CaptureOrder {
  wire::CaptureState state = wire::CaptureState::kRecording;
  wire::DetailLevel detail = wire::DetailLevel::kStandard;
  uint32_t sources = ~0u;
  wire::CaptureCause cause = wire::CaptureCause::kStart;

  friend bool operator==(const CaptureOrder&, const CaptureOrder&) = default;
};

}  // namespace dprof::recorder
