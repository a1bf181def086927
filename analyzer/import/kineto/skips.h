// SPDX-License-Identifier: Apache-2.0
// The reasons why an event of a Chrome JSON file is in no table.
#pragma once

#include "analyzer/import/sink/trace_sink.h"

namespace dprof::analyzer::kineto {

// Other rows contain the same data.
inline constexpr Skip kLaunchArrows{
    "flow arrows of the profiler (the correlation and sequence columns say the same)", true};
inline constexpr Skip kGpuAnnotations{
    "annotations repeated on a stream (the range of the host is there)", true};
inline constexpr Skip kProfilerSpans{"marks of the profiler's own session", true};
inline constexpr Skip kDisplayHints{"names, labels and sort orders of rows without events", true};

// Missing.
inline constexpr Skip kArrows{"flow arrows"};
inline constexpr Skip kCounters{"counters"};
inline constexpr Skip kOtherPhases{"samples, objects, thread states and other kinds of events"};
inline constexpr Skip kNoPhase{"events without a kind (`ph`)"};
inline constexpr Skip kNoTime{"events without a usable time (`ts`)"};
inline constexpr Skip kNoDuration{"complete events without a usable duration (`dur`)"};
inline constexpr Skip kNegative{"events with a negative duration"};
inline constexpr Skip kEndWithoutBegin{"ends without a begin"};
inline constexpr Skip kNotAnObject{"elements that are no events"};
inline constexpr Skip kNotJson{"events that are no JSON"};
inline constexpr Skip kTooDeep{"events that are nested too deep"};
inline constexpr Skip kTooLong{"events that are too long"};
inline constexpr Skip kOfNoRank{"events of processes whose rank the file does not give"};
inline constexpr Skip kNoSize{"memory events without a size"};

}  // namespace dprof::analyzer::kineto
