// SPDX-License-Identifier: Apache-2.0
// Makes a run whose truth is known.
#pragma once

#include <filesystem>
#include <functional>

#include "base/result.h"
#include "synth/spec.h"
#include "synth/truth/truth.h"

namespace dprof::synth {

// Called now and then with the share that is done; from one thread at a time.
using Progress = std::function<void(double share)>;

// Executes the model and writes `run`: a trace per rank, run.json and truth.json. All ranks are
// executed together first, with nothing kept but how each collective went; then each by itself, for
// its rows: memory is one rank's rows per thread, and 12 bytes per rank and collective. About
// 1 us per row and core. Refuses a folder that holds a run.
Result<Truth> generate(const Spec& spec, const std::filesystem::path& run,
                       const Progress& progress = {});

// Only how long the job needs for a step, ns: mean period of its steps, without the first 4.
Result<int64_t> step_length(const Spec& spec);

// The same without writing anything: for tests of the model. With the trails, if asked for.
Result<Truth> execute(const Spec& spec, std::vector<Trail>* trails = nullptr);

}  // namespace dprof::synth
