// SPDX-License-Identifier: Apache-2.0
// The one packet that a process sends to its recorder (SOCK_SEQPACKET), with the memfd as
// SCM_RIGHTS, and the environment variables that say where to send it.
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "collector/wire/layout.h"

namespace dprof::wire {

// Set by `dprof record` for the command that it starts.
inline constexpr char kSocketVariable[] = "DPROF_SOCKET";  // path of the recorder's socket
inline constexpr char kClockVariable[] = "DPROF_CLOCK";  // "source tick0 multiplier shift", decimal
inline constexpr char kDetailVariable[] = "DPROF_DETAIL";  // [armed-]light | standard | full
inline constexpr char kArmedPrefix[] = "armed-";
inline constexpr char kCudaVariable[] = "DPROF_CUDA";  // cupti | yield | off
// "PID FOLDER", with `--on-hang stacks`: PID of the recorder, which may look into the process, and
// the folder where Python writes its stacks (write_stacks_path()) on stacks_signal().
inline constexpr char kStacksVariable[] = "DPROF_STACKS";
inline constexpr char kPythonVariable[] = "DPROF_PYTHON";  // gc=on | gc=off
inline constexpr char kRankVariable[] = "DPROF_RANK";      // overrides every launcher's variable

inline constexpr uint32_t kHelloBytes = 32768;  // at most; longer command lines are cut

// A signal without a known user.
[[nodiscard]] inline int stacks_signal() noexcept { return SIGRTMAX - 7; }
// `pid`: as the process sees itself; `ticks`: from its hello.
inline void write_stacks_path(char* path, size_t bytes, const char* folder, int pid,
                              uint64_t ticks) noexcept {
  snprintf(path, bytes, "%s/stacks-%d-%llu", folder, pid, static_cast<unsigned long long>(ticks));
}

struct Hello {
  uint64_t magic;
  uint32_t wire_version;
  int32_t pid;           // as the process sees itself; the recorder also asks SO_PEERCRED
  int32_t error_number;  // errno of what prevented the shared memory; 0 = a descriptor comes along
  uint32_t text_bytes;
  uint64_t first_event_ticks;
  // Then `text_bytes` of "KEY=VALUE\0" entries: rank variables as found in the environment,
  // "cmdline=…" (arguments separated by spaces), "error=what failed".
};
static_assert(sizeof(Hello) == 32);

}  // namespace dprof::wire
