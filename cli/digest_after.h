// SPDX-License-Identifier: Apache-2.0
// What `dprof record` does for the report once all is recorded.
#pragma once

#include "cli/console.h"
#include "collector/recorder/recording/record.h"

namespace dprof::cli {

// Makes and keeps the digests of this recorder's traces, by `dprof digest` in a process of its own:
// no fault of it reaches the recorder, and a signal ends it at once. Not for a job that was ended
// by a signal, nor where the disk is full.
void digest_after(const recorder::RecordOutcome& recorded, Console& console);

}  // namespace dprof::cli
