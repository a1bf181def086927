// SPDX-License-Identifier: Apache-2.0
// A made run, its truth, and what the whole analysis says about it.
#pragma once

#include "analyzer/analysis.h"
#include "synth/generate.h"

namespace dprof {

struct Outcome {
  synth::Truth truth;
  analyzer::Analysis analysis;
};

Outcome analysed(const synth::Spec& spec);

}  // namespace dprof
