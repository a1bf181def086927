// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/environment.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "collector/inject/cuda/cuda_clients.h"
#include "collector/inject/cuda/cupti_table.h"
#include "collector/inject/nccl/nccl_options.h"
#include "collector/wire/hello.h"
#include "collector/wire/torch_builds.h"

namespace dprof::inject {
namespace {

// dprof's own variables come first.
constexpr const char* kNoted[] = {
    wire::kSocketVariable,
    wire::kDetailVariable,
    wire::kClockVariable,
    wire::kCudaVariable,
    wire::kStacksVariable,
    wire::kPythonVariable,
    cupti::kLibraryVariable,
    nccl::kEventsVariable,
    wire::kTorchTrustVariable,
    wire::kTorchLayoutVariable,
    // Variables that reveal other clients of CUPTI (cuda_clients.cpp).
    kKinetoDaemonVariable,
    "NSYS_PROFILING_SESSION_ID",
    "QUADD_INJECTION_PROXY",
    "NV_NSIGHT_INJECTION_TRANSPORT_TYPE",
    "NV_COMPUTE_PROFILER_PERFWORKS_DIR",
};
constexpr size_t kCount = sizeof kNoted / sizeof kNoted[0];
constexpr size_t kOwn = 10;
static_assert(std::string_view(kNoted[kOwn - 1]).starts_with("DPROF_") &&
              !std::string_view(kNoted[kOwn]).starts_with("DPROF_"));
constexpr size_t kRoom = 16384;

constinit char values[kRoom] = {};
constinit size_t bytes_used = 0;
constinit const char* value_of[kCount] = {};

void note_first(size_t count) noexcept {
  for (size_t i = 0; i < count; ++i) {
    if (value_of[i] != nullptr) continue;
    const char* value = getenv(kNoted[i]);
    const size_t bytes = value != nullptr ? strlen(value) + 1 : 0;
    if (bytes == 0 || bytes > kRoom - bytes_used) continue;
    memcpy(values + bytes_used, value, bytes);
    value_of[i] = values + bytes_used;
    bytes_used += bytes;
  }
}

}  // namespace

void note_own_environment() noexcept { note_first(kOwn); }

void note_environment() noexcept { note_first(kCount); }

const char* noted_variable(const char* name) noexcept {
  for (size_t i = 0; i < kCount; ++i) {
    if (strcmp(kNoted[i], name) == 0) return value_of[i];
  }
  return nullptr;
}

}  // namespace dprof::inject
