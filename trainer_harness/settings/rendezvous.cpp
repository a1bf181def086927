// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/settings/rendezvous.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <limits>

#include "trainer_harness/faults/fault.h"

namespace dprof::trainer_harness {
namespace {

struct Launcher {
  const char* rank;
  const char* world_size;
  const char* local_rank;
};

// Slurm last: its variables are set in the shells of other launchers too.
constexpr Launcher kLaunchers[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_RANK"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
};

int number(const char* name, const std::string& value, int low, int high) {
  int result = 0;
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, result);
  if (error != std::errc{} || stop != end || result < low || result > high) {
    throw UsageError(fmt::format("{}={} is not a number of {} to {}", name, value, low, high));
  }
  return result;
}

std::string needed(const Environment& environment, const char* name, const char* because) {
  if (std::optional<std::string> value = environment(name); value && !value->empty()) return *value;
  throw UsageError(
      fmt::format("{} is not set, but {} is\nhint: start the ranks with dprof record -n N, "
                  "torchrun --no-python, "
                  "or set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT for each",
                  name, because));
}

}  // namespace

std::optional<std::string> process_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::optional<Rendezvous> find_rendezvous(const Environment& environment) {
  for (const Launcher& launcher : kLaunchers) {
    const std::optional<std::string> rank = environment(launcher.rank);
    if (!rank) continue;
    Rendezvous found;
    found.world_size =
        number(launcher.world_size, needed(environment, launcher.world_size, launcher.rank), 1,
               std::numeric_limits<int>::max());
    found.rank = number(launcher.rank, *rank, 0, found.world_size - 1);
    const std::optional<std::string> local = environment(launcher.local_rank);
    found.local_rank =
        local ? number(launcher.local_rank, *local, 0, found.world_size - 1) : found.rank;
    found.master_address = needed(environment, "MASTER_ADDR", launcher.rank);
    found.master_port = static_cast<uint16_t>(
        number("MASTER_PORT", needed(environment, "MASTER_PORT", launcher.rank), 1,
               std::numeric_limits<uint16_t>::max()));
    found.agent_serves = environment("TORCHELASTIC_USE_AGENT_STORE") == "True";
    return found;
  }
  if (environment("WORLD_SIZE")) (void)needed(environment, "RANK", "WORLD_SIZE");
  return std::nullopt;
}

}  // namespace dprof::trainer_harness
