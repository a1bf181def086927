// SPDX-License-Identifier: Apache-2.0
// A check's result as people and CI systems take it (docs/ci.md): all from the one typed result.
#pragma once

#include <string>
#include <vector>

#include "analyzer/check/check.h"
#include "analyzer/render/document.h"
#include "analyzer/render/writers.h"

namespace dprof::analyzer {

// What gui/html makes a page of.
struct CheckAnswer {
  Span word;  // PASSED, FAILED, CANNOT TELL
  std::string text;
  std::vector<std::string> notes;  // what is behind it, a sentence each
};
[[nodiscard]] CheckAnswer check_answer(const CheckResult& result);
// What fails or is not decided comes first; at most `most`.
[[nodiscard]] Document check_table(const CheckResult& result, size_t most);

[[nodiscard]] std::string render_check_text(const CheckResult& result, const TextShape& shape);
// For a pull request: at most kMostMarkdown bytes.
inline constexpr size_t kMostMarkdown = 65'000;
[[nodiscard]] std::string render_check_markdown(const CheckResult& result);
[[nodiscard]] std::string render_check_json(const CheckResult& result);  // "dprof.check/1"
// A suite of the run, a case of each check; only what Jenkins' strict schema allows.
[[nodiscard]] std::string render_check_junit(const CheckResult& result);
// Workflow commands: GitHub shows at most ten a step.
inline constexpr size_t kMostAnnotations = 10;
[[nodiscard]] std::string render_check_github(const CheckResult& result);
[[nodiscard]] std::string render_check_openmetrics(const CheckResult& result);
// The same for GitLab, which compares texts: rounded, and without the run's name.
[[nodiscard]] std::string render_check_gitlab(const CheckResult& result);
// For github-action-benchmark, tool customSmallerIsBetter.
[[nodiscard]] std::string render_check_benchmark(const CheckResult& result);

}  // namespace dprof::analyzer
