// SPDX-License-Identifier: Apache-2.0
// Who else in this process uses, or is about to use, CUPTI; and what the CUDA driver says of itself
// without being initialised by us.
//
// Threading  any; reads the environment and the list of mapped libraries only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dprof::inject {

// With it, Kineto subscribes when torch is imported, not when it is first used.
inline constexpr char kKinetoDaemonVariable[] = "KINETO_USE_DAEMON";

// The other client of CUPTI as a short name ("Nsight Systems"), from the libraries that are mapped
// and the environment. False when none is recognised. A torch that is merely mapped is not one: its
// profiler may never be used.
bool find_other_client(char* name, size_t bytes) noexcept;

// True when torch is mapped, so that torch.profiler may be who has CUPTI.
[[nodiscard]] bool torch_may_profile() noexcept;

// True when libcuda is mapped and somebody has called cuInit. Never loads or initialises anything:
// a process that is going to fork must not have CUDA initialised behind its back.
[[nodiscard]] bool driver_is_initialized() noexcept;

// True when a device has a primary context, the one that the runtime uses: kernels may run.
[[nodiscard]] bool a_device_is_in_use() noexcept;

// Version of the CUDA driver that is mapped, as 13000 for 13.0; 0 = not known.
[[nodiscard]] int driver_version() noexcept;

}  // namespace dprof::inject
