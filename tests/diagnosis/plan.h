// SPDX-License-Identifier: Apache-2.0
// The synthetic half of the scoreboard as data: which runs are generated, and what is to be found
// in each. The same plan every time: nothing in it is drawn from a clock.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "synth/spec.h"

namespace dprof::diagnosis {

// What a case turns until its faults cost what they are to cost.
enum class Knob : uint8_t { kNone, kMs, kFactor, kEach };  // kEach: what a fault has

// One culprit that a case has.
struct Expected {
  std::vector<int> ranks;  // any of them may be named; empty = no rank in particular
  int host = -1;           // or this host
  std::vector<std::string_view> causes;
  std::string_view shape;  // persistent, transient, periodic, rotating
  size_t faults = 1;       // that it has
};

struct Case {
  std::string id;
  std::string kind;  // of fault, or of healthy run
  double size = 0;   // of a step, that the faults together are to cost; 0 = healthy
  synth::Spec spec;
  Knob knob = Knob::kNone;
  std::vector<Expected> expected;  // empty = nobody is to be named; in the order of their faults
  bool harder = false;             // several faults: also what each costs alone
};

// All of them, ordered so that every Nth is a fair sample. Of another seed not only what is drawn
// differs, but also which size, technique, noise and culprit meet in a case: 0 are those of which
// results are kept, any other shows whether they were only learnt by heart. Harder ones are a plan
// of their own.
[[nodiscard]] std::vector<Case> all_cases(size_t seed = 0);
[[nodiscard]] std::vector<Case> harder_cases(size_t seed = 0);

}  // namespace dprof::diagnosis
