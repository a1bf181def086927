// SPDX-License-Identifier: Apache-2.0
// The digests that `dprof record` prepares for the report once everything is recorded.
#pragma once

#include "cli/console.h"
#include "collector/recorder/recording/record.h"

namespace dprof::cli {

// Makes and keeps the digests of this recorder's traces, by running `dprof digest` as a separate
// process: its faults do not reach the recorder, and a signal ends it at once. Skipped for a job
// that was ended by a signal, and if the disk is full.
void digest_after(const recorder::RecordOutcome& recorded, Console& console);

}  // namespace dprof::cli
