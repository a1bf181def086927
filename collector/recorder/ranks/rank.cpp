// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/ranks/rank.h"

#include <charconv>

namespace dprof::recorder {
namespace {

// The variable names of one launcher; "" = not provided.
struct Convention {
  std::string_view launcher;
  std::string_view rank, world_size, local_rank, local_world_size, node_rank, restart_count;
  bool needs_world_size = false;  // the rank's variable alone is too common a name
};

constexpr Convention kConventions[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK",
     "TORCHELASTIC_RESTART_COUNT", true},
    {"openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_NODE_RANK", ""},
    {"mpich", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "", ""},
    {"horovod", "HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE",
     "HOROVOD_CROSS_RANK", ""},
    {"slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "", "SLURM_NODEID", ""},
    {"openmpi", "PMIX_RANK", "", "", "", "", ""},
};

// No job is larger. A larger value is noise, and must not become a loop's bound.
constexpr int kMaxRanks = 1 << 20;

std::optional<int> number(const Variables& variables, std::string_view name) {
  const auto found = variables.find(name);
  if (name.empty() || found == variables.end()) return std::nullopt;
  const std::string& text = found->second;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > kMaxRanks) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

RankInfo find_rank(const Variables& variables) {
  RankInfo info;
  for (const Convention& launcher : kConventions) {
    info.rank = number(variables, launcher.rank);
    if (!info.rank) continue;
    info.world_size = number(variables, launcher.world_size);
    if (launcher.needs_world_size && !info.world_size) {
      info.rank.reset();
      continue;
    }
    info.local_rank = number(variables, launcher.local_rank);
    info.local_world_size = number(variables, launcher.local_world_size);
    info.node_rank = number(variables, launcher.node_rank);
    info.restart_count = number(variables, launcher.restart_count);
    info.launcher = launcher.launcher;
    break;
  }
  // People also set torchrun's names by hand; only torchrun itself sets its run id.
  if (info.launcher == "torchrun" && !variables.contains("TORCHELASTIC_RUN_ID")) {
    info.launcher = "none";
  }
  if (const std::optional<int> given = number(variables, "DPROF_RANK")) info.rank = given;
  return info;
}

Variables parse_variables(std::string_view text, char separator) {
  Variables variables;
  while (!text.empty()) {
    const size_t end = text.find(separator);
    const std::string_view entry = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    variables.insert_or_assign(std::string(entry.substr(0, equals)),
                               std::string(entry.substr(equals + 1)));
  }
  return variables;
}

std::string value_of(const Variables& variables, std::string_view name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string() : found->second;
}

}  // namespace dprof::recorder
