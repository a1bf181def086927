// SPDX-License-Identifier: Apache-2.0
// The catalogue of strategies, techniques and mistakes by name. `--list` prints it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer_harness/settings/options.h"

namespace dprof::trainer_harness {

struct StrategyRow {
  std::string_view word;  // as --strategy takes it
  StrategyKind kind;
  std::string_view about;
};

// A technique of distributed training, and the options that select it.
struct TechniqueRow {
  std::string_view name;
  std::string_view option;
  std::string_view runs_on;  // "C": the CPU with Gloo; "gpu": needs a GPU
};

// A common user error.
struct MistakeRow {
  std::string_view id;         // M1 to M24
  std::string_view option;     // makes the mistake
  std::string_view about;      // what is wrong
  std::string_view rule;       // dprof's rule or analysis that should find it
  std::string_view word = {};  // as --mistake takes it; empty if it does not
  Mistake mistake = Mistake::kNone;
};

struct ModelLine {
  std::string name;
  std::string about;
};

[[nodiscard]] std::span<const StrategyRow> strategy_rows();
[[nodiscard]] std::span<const TechniqueRow> technique_rows();
[[nodiscard]] std::span<const MistakeRow> mistake_rows();

[[nodiscard]] std::string_view strategy_word(StrategyKind kind);

// The catalogue as text, in lines of at most 100 columns. `slow_link` is how this host slows links.
[[nodiscard]] std::string list_text(const std::vector<ModelLine>& models,
                                    const std::string& slow_link);

}  // namespace dprof::trainer_harness
