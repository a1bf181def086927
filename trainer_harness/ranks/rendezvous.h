// SPDX-License-Identifier: Apache-2.0
// This process's rank, and the address where the ranks meet, from the launcher's environment.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace dprof::trainer_harness {

// The backend of the ranks' process group.
enum class Backend : uint8_t { kGloo, kNccl };

struct Rendezvous {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  std::string master_address;
  uint16_t master_port = 0;
  bool agent_serves =
      false;  // torchrun's agent serves the store's port, so that rank 0 is a client too
};

using Environment = std::function<std::optional<std::string>(const char* name)>;

// The process's own environment.
[[nodiscard]] std::optional<std::string> process_environment(const char* name);

// nullopt if no launcher has set a rank: a single process. Understands env:// (torchrun, dprof
// record -n), and the ranks of Open MPI, MPICH and Slurm. Without MASTER_ADDR and MASTER_PORT, Open
// MPI's single host or Slurm's first host is used, and a port derived from the job's number.
// `local_rank` is --local_rank. Throws UsageError if a rank is set and other variables are missing.
[[nodiscard]] std::optional<Rendezvous> find_rendezvous(const Environment& environment,
                                                        std::optional<int> local_rank = {});

}  // namespace dprof::trainer_harness
