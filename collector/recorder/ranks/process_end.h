// SPDX-License-Identifier: Apache-2.0
// How a process ended that is no child of the recorder: one that torchrun, mpirun or srun started.
#pragma once

#include <optional>

#include "collector/recorder/ranks/launcher.h"

namespace dprof::recorder {

// nullopt: it runs, or nobody can tell. The kernel shows it as long as nobody has waited for the
// process (/proc/PID/stat, proc(5)), and from Linux 6.15 on afterwards (PIDFD_GET_INFO).
// `pid` as this process sees it; 0 = not known.
[[nodiscard]] std::optional<ExitStatus> exit_status_of(int pidfd, int pid);

}  // namespace dprof::recorder
