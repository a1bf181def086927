// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/cuda/cuda_clients.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstring>

#include "collector/inject/environment.h"
#include "collector/inject/torch_gate.h"

namespace dprof::inject {
namespace {

struct Sign {
  const char* what;  // start of a library's file name, or a variable
  const char* client;
};

// Libraries that only these tools load.
constexpr Sign kLibraries[] = {
    {"libToolsInjection", "Nsight Systems"},
    {"libInterceptorInjectionTarget", "Nsight Compute"},
    {"libTreeLauncherTargetInjection", "Nsight Compute"},
    {"libcuda-injection", "Nsight Compute"},
    {"libsanitizer-collection", "compute-sanitizer"},
    {"libcupti_trace_injection", "CUPTI's trace_injection sample"},
    {"libscorep_adapter_cuda", "Score-P"},
    {"libTAU", "TAU"},
};
constexpr Sign kVariables[] = {
    {"NSYS_PROFILING_SESSION_ID", "Nsight Systems"},
    {"QUADD_INJECTION_PROXY", "Nsight Systems"},
    {"NV_NSIGHT_INJECTION_TRANSPORT_TYPE", "Nsight Compute"},
    {"NV_COMPUTE_PROFILER_PERFWORKS_DIR", "Nsight Compute"},
};

int look_for_client(dl_phdr_info* info, size_t, void* data) noexcept {
  if (info->dlpi_name == nullptr) return 0;
  const char* slash = strrchr(info->dlpi_name, '/');
  const char* file = slash != nullptr ? slash + 1 : info->dlpi_name;
  for (const Sign& sign : kLibraries) {
    if (strncmp(file, sign.what, strlen(sign.what)) != 0) continue;
    *static_cast<const char**>(data) = sign.client;
    return 1;
  }
  return 0;
}

template <typename Function>
Function driver_function(const char* name) noexcept {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  const auto function = reinterpret_cast<Function>(dlsym(library, name));
  dlclose(library);  // gives back the count that dlopen took
  return function;
}

}  // namespace

bool find_other_client(char* name, size_t bytes) noexcept {
  const char* client = nullptr;
  dl_iterate_phdr(&look_for_client, static_cast<void*>(&client));
  for (const Sign& sign : kVariables) {
    if (client == nullptr && noted_variable(sign.what) != nullptr) client = sign.client;
  }
  if (client == nullptr && noted_variable(kKinetoDaemonVariable) != nullptr && torch_is_mapped()) {
    client = "torch.profiler (KINETO_USE_DAEMON is set)";
  }
  if (client == nullptr) return false;
  snprintf(name, bytes, "%s", client);
  return true;
}

bool torch_may_profile() noexcept { return torch_is_mapped(); }

bool driver_is_initialized() noexcept {
  const auto count_devices = driver_function<int (*)(int*)>("cuDeviceGetCount");
  int count = 0;
  return count_devices != nullptr && count_devices(&count) == 0;
}

bool a_device_is_in_use() noexcept {
  const auto count_devices = driver_function<int (*)(int*)>("cuDeviceGetCount");
  const auto state_of =
      driver_function<int (*)(int, unsigned*, int*)>("cuDevicePrimaryCtxGetState");
  int count = 0;
  if (state_of == nullptr || count_devices == nullptr || count_devices(&count) != 0) return false;
  for (int device = 0; device < count; ++device) {
    unsigned flags = 0;
    int active = 0;
    if (state_of(device, &flags, &active) == 0 && active != 0) return true;
  }
  return false;
}

int driver_version() noexcept {
  const auto get_version = driver_function<int (*)(int*)>("cuDriverGetVersion");
  int version = 0;
  return get_version != nullptr && get_version(&version) == 0 ? version : 0;
}

}  // namespace dprof::inject
