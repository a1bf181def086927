// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/hello_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace dprof::inject {
namespace {

constexpr const char* kRankVariables[] = {
    wire::kRankVariable,
    // torchrun
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "ROLE_RANK", "ROLE_NAME",
    "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT",
    // Open MPI, PMIx
    "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_NODE_RANK", "PMIX_RANK", "PMIX_NAMESPACE",
    "PMIX_HOSTNAME",
    // MPICH (Hydra)
    "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
    // Slurm
    "SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_NODEID",
    "SLURM_JOB_ID", "SLURM_STEP_ID",
    // Horovod and others
    "HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE",
    "HOROVOD_CROSS_RANK", "PALS_RANKID", "FLUX_TASK_RANK", "MV2_COMM_WORLD_RANK"};

}  // namespace

void HelloText::add(const char* key, const char* value) noexcept {
  const size_t key_length = strlen(key);
  const size_t value_length = strlen(value);
  const size_t need = key_length + 1 + value_length + 1;
  if (need > capacity_ - used_) return;
  char* at = static_cast<char*>(mempcpy(buffer_ + used_, key, key_length));
  *at = '=';
  memcpy(at + 1, value, value_length + 1);
  used_ += need;
}

void HelloText::add_rank_variables() noexcept {
  for (const char* name : kRankVariables) {
    if (const char* value = getenv(name)) add(name, value);
  }
}

void HelloText::add_command_line() noexcept {
  const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  static constexpr char kKey[] = "cmdline=";
  constexpr size_t kKeyLength = sizeof kKey - 1;
  if (capacity_ - used_ > kKeyLength + 1) {
    char* text = buffer_ + used_;
    memcpy(text, kKey, kKeyLength);
    const ssize_t got = read(file, text + kKeyLength, capacity_ - used_ - kKeyLength - 1);
    size_t length = got > 0 ? static_cast<size_t>(got) : 0;
    while (length > 0 && text[kKeyLength + length - 1] == '\0') --length;
    for (size_t i = 0; i < length; ++i) {
      if (text[kKeyLength + i] == '\0') text[kKeyLength + i] = ' ';
    }
    text[kKeyLength + length] = '\0';
    used_ += kKeyLength + length + 1;
  }
  ::close(file);
}

}  // namespace dprof::inject
