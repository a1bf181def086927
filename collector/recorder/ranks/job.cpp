// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/ranks/job.h"

#include <fmt/format.h>

#include <initializer_list>
#include <string_view>

namespace dprof::recorder {
namespace {

// "NAME=value NAME=value", or "" if one of `needed` is missing.
std::string joined_variables(const Variables& variables,
                             std::initializer_list<std::string_view> needed,
                             std::initializer_list<std::string_view> optional = {}) {
  std::string text;
  for (const std::string_view name : needed) {
    const std::string value = value_of(variables, name);
    if (value.empty()) return {};
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  }
  for (const std::string_view name : optional) {
    const std::string value = value_of(variables, name);
    if (!value.empty()) text += fmt::format(" {}={}", name, value);
  }
  return text;
}

std::string job_id(const Variables& variables) {
  const std::string candidates[] = {
      // torchrun's run id is "none" unless given: then the rendezvous distinguishes jobs.
      joined_variables(variables, {"TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT"}),
      joined_variables(variables, {"PMIX_NAMESPACE"}),
      // A requeued job runs again under its id.
      joined_variables(variables, {"SLURM_JOB_ID", "SLURM_STEP_ID"}, {"SLURM_RESTART_COUNT"}),
      joined_variables(variables, {"MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE"}),
  };
  for (const std::string& candidate : candidates) {
    if (!candidate.empty()) return candidate;
  }
  return {};
}

}  // namespace

Job find_job(const Variables& variables) {
  Job job{job_id(variables), {}};
  if (job.id.empty()) return job;
  const RankInfo rank = find_rank(variables);
  if (rank.rank) {
    job.seat = fmt::format("rank {}", *rank.rank);
    if (rank.restart_count) job.seat += fmt::format(", restart {}", *rank.restart_count);
    return job;
  }
  for (const std::string_view name : {"NODE_RANK", "GROUP_RANK", "SLURM_NODEID"}) {
    const std::string value = value_of(variables, name);
    if (value.empty()) continue;
    job.seat = fmt::format("node {}", value);
    break;
  }
  return job;
}

}  // namespace dprof::recorder
