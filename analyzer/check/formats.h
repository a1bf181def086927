// SPDX-License-Identifier: Apache-2.0
// A check's result in the formats of people and CI systems (docs/ci.md), all from one typed result.
#pragma once

#include <string>
#include <vector>

#include "analyzer/check/check.h"
#include "analyzer/render/document.h"
#include "analyzer/render/writers.h"

namespace dprof::analyzer {

// The input of gui/html's page.
struct CheckAnswer {
  Span word;  // PASSED, FAILED, CANNOT TELL
  std::string text;
  std::vector<std::string> notes;  // the details, a sentence each
};
[[nodiscard]] CheckAnswer check_answer(const CheckResult& result);
// Failed and undecided cases first; at most `most`.
[[nodiscard]] Document check_table(const CheckResult& result, size_t most);

[[nodiscard]] std::string render_check_text(const CheckResult& result, const TextShape& shape);
// For a pull request comment: at most kMostMarkdown bytes.
inline constexpr size_t kMostMarkdown = 65'000;
[[nodiscard]] std::string render_check_markdown(const CheckResult& result);
[[nodiscard]] std::string render_check_json(const CheckResult& result);  // "dprof.check/1"
// One suite per run, one case per check; only what Jenkins' strict schema allows.
[[nodiscard]] std::string render_check_junit(const CheckResult& result);
// Workflow commands: GitHub shows at most ten per step.
inline constexpr size_t kMostAnnotations = 10;
[[nodiscard]] std::string render_check_github(const CheckResult& result);
[[nodiscard]] std::string render_check_openmetrics(const CheckResult& result);
// The same for GitLab, which compares texts: rounded, and without the run's name.
[[nodiscard]] std::string render_check_gitlab(const CheckResult& result);
// For github-action-benchmark, tool customSmallerIsBetter.
[[nodiscard]] std::string render_check_benchmark(const CheckResult& result);

}  // namespace dprof::analyzer
