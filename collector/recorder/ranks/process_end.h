// SPDX-License-Identifier: Apache-2.0
// The end of a process that is not a child of the recorder: started by torchrun, mpirun or srun.
#pragma once

#include <optional>

#include "collector/recorder/ranks/launcher.h"

namespace dprof::recorder {

// nullopt: it still runs, or its status is not available. The kernel shows it until the process is
// waited for (/proc/PID/stat, proc(5)), and from Linux 6.15 on afterwards, too (PIDFD_GET_INFO).
// `pid` as this process sees it; 0 = not known.
[[nodiscard]] std::optional<ExitStatus> exit_status_of(int pidfd, int pid);

}  // namespace dprof::recorder
