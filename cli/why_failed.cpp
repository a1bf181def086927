// SPDX-License-Identifier: Apache-2.0
#include "cli/why_failed.h"

#include <exception>

#include "analyzer/analysis.h"

namespace dprof::cli {

// The job's own exit code matters more: errors here are not reported.
std::optional<WhyFailed> why_it_failed(const std::filesystem::path& run) try {
  const Result<analyzer::Run> opened = analyzer::open_run({run});
  if (!opened.ok()) return std::nullopt;
  const Result<analyzer::Analysis> analysis = analyzer::analyze(*opened, {.pieces = false});
  if (!analysis.ok() || !analyzer::has_failed(analysis->report)) return std::nullopt;
  const auto& findings = analysis->report.findings;
  if (!findings || findings->empty()) return std::nullopt;
  return WhyFailed{findings->front().title, findings->front().advice};
} catch (const std::exception&) {
  return std::nullopt;
}

}  // namespace dprof::cli
