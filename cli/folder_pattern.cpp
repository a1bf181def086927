// SPDX-License-Identifier: Apache-2.0
#include "cli/folder_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dprof::cli {
namespace {

constexpr std::array kJobVariables{"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID",
                                   "JOB_ID"};
constexpr char kWhatThereIs[] =
    "%h host, %p process, %j batch job, %q{VAR} environment variable, %% a per cent sign";

Result<std::string> variable(std::string_view pattern, const std::string& name,
                             const PatternFacts& facts) {
  const char* value = facts.variable(name.c_str());
  if (value != nullptr && *value != '\0') return std::string(value);
  return fail(Code::kUsage, fmt::format("{}: {} is not set", pattern, name),
              "export it, or choose another name");
}

Result<std::string> job_id(std::string_view pattern, const PatternFacts& facts) {
  for (const char* name : kJobVariables) {
    const char* value = facts.variable(name);
    if (value != nullptr && *value != '\0') return std::string(value);
  }
  return fail(
      Code::kUsage, fmt::format("{}: %j, and this is no batch job", pattern),
      fmt::format("none of {} is set; choose another name", fmt::join(kJobVariables, ", ")));
}

}  // namespace

Result<std::string> expand_pattern(std::string_view pattern, const PatternFacts& facts) {
  std::string text;
  for (size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '%') {
      text += pattern[at];
      continue;
    }
    const char what = ++at < pattern.size() ? pattern[at] : '\0';
    const size_t close = pattern.find('}', at);
    Result<std::string> part = std::string("%");
    if (what == 'h') {
      part = facts.host;
    } else if (what == 'p') {
      part = std::to_string(facts.pid);
    } else if (what == 'j') {
      part = job_id(pattern, facts);
    } else if (what == 'q' && pattern.substr(at + 1).starts_with('{') &&
               close != std::string_view::npos) {
      part = variable(pattern, std::string(pattern.substr(at + 2, close - at - 2)), facts);
      at = close;
    } else if (what != '%') {
      return fail(
          Code::kUsage,
          fmt::format("{}: {} is unknown", pattern, pattern.substr(at - 1, what == '\0' ? 1 : 2)),
          kWhatThereIs);
    }
    if (!part.ok()) return fail(part.error());
    text += *part;
  }
  return text;
}

}  // namespace dprof::cli
