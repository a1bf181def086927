// SPDX-License-Identifier: Apache-2.0
// FINDINGS: what costs time, the dearest first, with symptoms below their causes; what was found
// good, and what could not have been seen.
#pragma once

#include <string>
#include <vector>

#include "analyzer/render/layout.h"
#include "analyzer/render/text.h"

namespace dprof::analyzer {

[[nodiscard]] std::string finding_section(const Report& report, const TextOptions& options,
                                          const Painter& paint);

// How much a healthy verdict is worth, a sentence each: what was not found, and what would not have
// been seen. Empty where ranks were not compared.
struct Verdicts {
  std::vector<std::string> good;    // "no rank holds the others up: …"
  std::vector<std::string> unseen;  // "an own delay below 0.4 ms per step …"
};
[[nodiscard]] Verdicts verdicts_of(const Report& report);

}  // namespace dprof::analyzer
