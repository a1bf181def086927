// SPDX-License-Identifier: Apache-2.0
// The reasons why a row of an export is in no table.
#pragma once

#include "analyzer/import/sink/trace_sink.h"

namespace dprof::analyzer::nsys {

// Other rows contain the same data.
inline constexpr Skip kPolls{"synchronisations that are a poll (the call is there)", true};

// Missing.
inline constexpr Skip kNoTime{"rows without a usable time"};
inline constexpr Skip kNoEnd{"rows without an end, or with one before their start"};
inline constexpr Skip kHostCopies{"copies from host to host"};
inline constexpr Skip kOddMarkers{"NVTX events that are neither ranges nor marks"};
inline constexpr Skip kNoSize{"memory events without a size"};
inline constexpr Skip kOtherProcesses{"rows of processes without CUDA or NVTX"};
inline constexpr Skip kTooManyProcesses{"rows of processes beyond the first 128"};

}  // namespace dprof::analyzer::nsys
