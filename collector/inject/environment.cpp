// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/environment.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "collector/inject/cuda/cuda_clients.h"
#include "collector/inject/cuda/cupti_table.h"
#include "collector/inject/nccl/nccl_options.h"
#include "collector/wire/hello.h"
#include "collector/wire/torch_builds.h"

namespace dprof::inject {
namespace {

constexpr const char* kNoted[] = {
    wire::kDetailVariable,
    wire::kClockVariable,
    wire::kCudaVariable,
    wire::kStacksVariable,
    wire::kPythonVariable,
    cupti::kLibraryVariable,
    nccl::kEventsVariable,
    kKinetoDaemonVariable,
    wire::kTorchTrustVariable,
    wire::kTorchLayoutVariable,
    // Those by which other clients of CUPTI are known (cuda_clients.cpp).
    "NSYS_PROFILING_SESSION_ID",
    "QUADD_INJECTION_PROXY",
    "NV_NSIGHT_INJECTION_TRANSPORT_TYPE",
    "NV_COMPUTE_PROFILER_PERFWORKS_DIR",
};
constexpr size_t kCount = sizeof kNoted / sizeof kNoted[0];
constexpr size_t kRoom = 16384;

constinit char values[kRoom] = {};
constinit const char* value_of[kCount] = {};

}  // namespace

void note_environment() noexcept {
  size_t used = 0;
  for (size_t i = 0; i < kCount; ++i) {
    const char* value = getenv(kNoted[i]);
    const size_t bytes = value != nullptr ? strlen(value) + 1 : 0;
    if (bytes == 0 || bytes > kRoom - used) continue;
    memcpy(values + used, value, bytes);
    value_of[i] = values + used;
    used += bytes;
  }
}

const char* noted_variable(const char* name) noexcept {
  for (size_t i = 0; i < kCount; ++i) {
    if (strcmp(kNoted[i], name) == 0) return value_of[i];
  }
  return nullptr;
}

}  // namespace dprof::inject
