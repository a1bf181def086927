// SPDX-License-Identifier: Apache-2.0
// The other clients in this process that use, or are about to use, CUPTI; and facts about the CUDA
// driver that need no initialisation.
//
// Threading  any; reads the environment and the list of mapped libraries only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dprof::inject {

// With it, Kineto subscribes when torch is imported, not at first use.
inline constexpr char kKinetoDaemonVariable[] = "KINETO_USE_DAEMON";

// The other client of CUPTI as a short name ("Nsight Systems"), from the mapped libraries and the
// environment. False if none is recognised. A merely mapped torch does not count: its profiler may
// never be used.
bool find_other_client(char* name, size_t bytes) noexcept;

// True if torch is mapped, so that torch.profiler may be the client of CUPTI.
[[nodiscard]] bool torch_may_profile() noexcept;

// True if libcuda is mapped and cuInit was called. Never loads or initialises anything: a process
// that is going to fork must not have CUDA initialised behind its back.
[[nodiscard]] bool driver_is_initialized() noexcept;

// True when a device has a primary context, the one that the runtime uses: kernels may run.
[[nodiscard]] bool a_device_is_in_use() noexcept;

// Version of the mapped CUDA driver, as 13000 for 13.0; 0 = not known.
[[nodiscard]] int driver_version() noexcept;

}  // namespace dprof::inject
