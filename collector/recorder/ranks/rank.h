// SPDX-License-Identifier: Apache-2.0
// The rank of a process, from the variables that launchers set.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace dprof::recorder {

using Variables = std::map<std::string, std::string, std::less<>>;
[[nodiscard]] std::string value_of(const Variables& variables,
                                   std::string_view name);  // "" = not set

struct RankInfo {
  std::optional<int> rank;
  std::optional<int> local_rank;
  std::optional<int> world_size;
  std::optional<int> local_world_size;
  std::optional<int> node_rank;
  std::optional<int> restart_count;
  std::string launcher = "none";  // as meta.launcher
};

// The first launcher in this order that names a rank wins: DPROF_RANK, torchrun (RANK and
// WORLD_SIZE), Open MPI, PMI, Horovod, Slurm, PMIX_RANK. Slurm is late because its variables are
// also set in shells and launchers that run inside an allocation; the inner launcher is right.
// Anything but a number from 0 to 2^20 counts as not set.
[[nodiscard]] RankInfo find_rank(const Variables& variables);

// "KEY=VALUE" entries with `separator` between them. Entries without '=' are left out.
[[nodiscard]] Variables parse_variables(std::string_view text, char separator);

}  // namespace dprof::recorder
