// SPDX-License-Identifier: Apache-2.0
// The kinds of own time that ranks are compared by. What held a rank up is none of them.
#pragma once

#include <array>
#include <string_view>

#include "analyzer/breakdown/sums.h"
#include "schema/marker_names.h"

namespace dprof::analyzer {

// A kind of own time. Kinds of one cause together decide; the largest of them gives its name.
struct Kind {
  std::string_view cause;
  std::string_view name;
  schema::Marker phase;
  int64_t (*of)(const Sums&);
};

inline constexpr std::array<Kind, 8> kKinds = {{
    {"dataloader", "input wait", schema::Marker::kInput,
     [](const Sums& s) { return s.of(Category::kInputWait); }},
    {"compute", "forward", schema::Marker::kForward,
     [](const Sums& s) { return s.compute_of(Category::kForward); }},
    {"compute", "backward", schema::Marker::kBackward,
     [](const Sums& s) { return s.compute_of(Category::kBackward); }},
    {"compute", "optimizer", schema::Marker::kOptimizer,
     [](const Sums& s) { return s.compute_of(Category::kOptimizer); }},
    {"compute", "other computation", schema::Marker::kNone,
     [](const Sums& s) { return s.compute_of(Category::kOtherCompute); }},
    {"checkpoint", "checkpoint", schema::Marker::kCheckpoint,
     [](const Sums& s) { return s.of(HostDetail::kCheckpoint); }},
    {"host", "named host range", schema::Marker::kNone,
     [](const Sums& s) { return s.of(HostDetail::kRange); }},
    {"host", "host time outside of every range", schema::Marker::kNone,
     [](const Sums& s) { return s.of(HostDetail::kUnattributed); }},
}};

}  // namespace dprof::analyzer
