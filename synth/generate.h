// SPDX-License-Identifier: Apache-2.0
// Generates a run whose truth is known.
#pragma once

#include <filesystem>
#include <functional>

#include "base/result.h"
#include "synth/spec.h"
#include "synth/truth/truth.h"

namespace dprof::synth {

// Called now and then with the share done; from one thread at a time.
using Progress = std::function<void(double share)>;

// Executes the model and writes `run`: a trace per rank, run.json and truth.json. First all ranks
// are executed together, keeping only the course of each collective; then each by itself, for its
// rows. Memory is one rank's rows per thread, and 12 bytes per rank and collective. About 1 us per
// row and core. Refuses a folder that holds a run.
Result<Truth> generate(const Spec& spec, const std::filesystem::path& run,
                       const Progress& progress = {});

// Only the job's time per step, ns: mean period of its steps, without the first 4.
Result<int64_t> step_length(const Spec& spec);

// The same without writing anything: for tests of the model. With the trails on request.
Result<Truth> execute(const Spec& spec, std::vector<Trail>* trails = nullptr);

}  // namespace dprof::synth
