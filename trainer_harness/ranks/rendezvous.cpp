// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/ranks/rendezvous.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "trainer_harness/common/usage_error.h"

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
    throw UsageError(
        fmt::format("{}={} is not a number of {} to {}\nhint: the launcher sets it, for each rank",
                    name, value, low, high));
  }
  return result;
}

std::string needed(const Environment& environment, const char* name, const char* because) {
  if (std::optional<std::string> value = environment(name); value && !value->empty()) return *value;
  throw UsageError(fmt::format(
      "{} is not set, but {} is\n"
      "hint: "
      "start the ranks with dprof record -n N, torchrun --no-python, or set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT for each",
      name, because));
}

std::string text_of(const Environment& environment, const char* name) {
  return environment(name).value_or("");
}

// The first host of a Slurm list as in "node[03-05,9],other".
std::string first_host(const std::string& list) {
  const size_t end = list.find(',');
  const size_t bracket = list.find('[');
  if (bracket == std::string::npos || end < bracket) return list.substr(0, end);
  const size_t number_end = list.find_first_of("-,]", bracket);
  return list.substr(0, bracket) + list.substr(bracket + 1, number_end - bracket - 1);
}

// Rank 0's address from the variables of Open MPI or Slurm; empty if they do not show it.
std::string derived_address(const Environment& environment, const Launcher& launcher) {
  const std::string_view rank = launcher.rank;
  if (rank == "OMPI_COMM_WORLD_RANK") {
    const bool one_host = text_of(environment, "OMPI_COMM_WORLD_LOCAL_SIZE") ==
                          text_of(environment, "OMPI_COMM_WORLD_SIZE");
    return one_host ? "127.0.0.1" : "";
  }
  if (rank != "SLURM_PROCID") return "";
  if (text_of(environment, "SLURM_NNODES") == "1") return "127.0.0.1";
  for (const char* list : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
    if (const std::string hosts = text_of(environment, list); !hosts.empty()) {
      return first_host(hosts);
    }
  }
  return text_of(environment, "SLURM_LAUNCH_NODE_IPADDR");
}

// The same port on all ranks of a job, another for the next job; below the ephemeral ports.
std::string derived_port(const Environment& environment, const Launcher& launcher) {
  constexpr uint32_t kFirst = 15'000;
  constexpr uint32_t kCount = 10'000;
  const std::string_view rank = launcher.rank;
  std::string job;
  if (rank == "OMPI_COMM_WORLD_RANK") {
    job = text_of(environment, "PMIX_NAMESPACE");
    if (job.empty()) job = text_of(environment, "OMPI_MCA_ess_base_jobid");
  } else if (rank == "SLURM_PROCID") {
    job = text_of(environment, "SLURM_JOB_ID");
    if (!job.empty()) job += "." + text_of(environment, "SLURM_STEP_ID");
  }
  if (job.empty()) return "";
  uint32_t hash = 2'166'136'261U;  // FNV-1a
  for (const char c : job) hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619U;
  return std::to_string(kFirst + hash % kCount);
}

std::string given_or(const Environment& environment, const char* name, const std::string& derived,
                     const char* because) {
  if (!derived.empty() && text_of(environment, name).empty()) return derived;
  return needed(environment, name, because);
}

// From the environment, else from the command line, else the rank, as on a single host.
int find_local_rank(const Environment& environment, const Launcher& launcher,
                    std::optional<int> given, const Rendezvous& found) {
  if (given && *given < 0) given.reset();  // -1 is the usual default in scripts
  if (given && *given >= found.world_size) {
    throw UsageError(fmt::format(
        "--local_rank {}: the job has {} ranks\nhint: local ranks count from 0 on each host",
        *given, found.world_size));
  }
  const std::optional<std::string> announced = environment(launcher.local_rank);
  if (!announced) return given.value_or(found.rank);
  const int local = number(launcher.local_rank, *announced, 0, found.world_size - 1);
  if (given && *given != local) {
    throw UsageError(fmt::format("--local_rank {} contradicts {}={}\nhint: leave --local_rank out",
                                 *given, launcher.local_rank, local));
  }
  return local;
}

}  // namespace

std::optional<std::string> process_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::optional<Rendezvous> find_rendezvous(const Environment& environment,
                                          std::optional<int> local_rank) {
  for (const Launcher& launcher : kLaunchers) {
    const std::optional<std::string> rank = environment(launcher.rank);
    if (!rank) continue;
    Rendezvous found;
    found.world_size =
        number(launcher.world_size, needed(environment, launcher.world_size, launcher.rank), 1,
               std::numeric_limits<int>::max());
    found.rank = number(launcher.rank, *rank, 0, found.world_size - 1);
    found.local_rank = find_local_rank(environment, launcher, local_rank, found);
    found.master_address =
        given_or(environment, "MASTER_ADDR", derived_address(environment, launcher), launcher.rank);
    found.master_port = static_cast<uint16_t>(number(
        "MASTER_PORT",
        given_or(environment, "MASTER_PORT", derived_port(environment, launcher), launcher.rank), 1,
        std::numeric_limits<uint16_t>::max()));
    found.agent_serves = environment("TORCHELASTIC_USE_AGENT_STORE") == "True";
    return found;
  }
  if (environment("WORLD_SIZE")) (void)needed(environment, "RANK", "WORLD_SIZE");
  return std::nullopt;
}

}  // namespace dprof::trainer_harness
