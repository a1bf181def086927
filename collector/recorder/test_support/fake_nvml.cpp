// SPDX-License-Identifier: Apache-2.0
// A libnvidia-ml.so.1 with two GPUs and NVML's binary interface. FAKE_NVML selects its behaviour:
// "no_driver", "no_power" (a GPU that does not report it), "hang" (calls do not return).
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "collector/recorder/system/nvml_table.h"

using dprof::recorder::nvml::Device;
using dprof::recorder::nvml::MemoryInfo;
using dprof::recorder::nvml::Return;
using dprof::recorder::nvml::Utilization;

namespace {

constexpr Return kInvalidArgument = 2;
constexpr Return kNotSupported = 3;
constexpr Return kDriverNotLoaded = 9;

bool behaves(const char* how) {
  const char* asked = std::getenv("FAKE_NVML");
  return asked != nullptr && std::strcmp(asked, how) == 0;
}

int gpus[2] = {0, 1};

unsigned number(Device device) { return static_cast<unsigned>(*static_cast<int*>(device)); }

}  // namespace

extern "C" {

Return nvmlInit_v2() { return behaves("no_driver") ? kDriverNotLoaded : 0; }
Return nvmlShutdown() { return 0; }
const char* nvmlErrorString(Return code) {
  return code == kDriverNotLoaded ? "Driver Not Loaded" : "Other";
}
Return nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  if (index >= 2) return kInvalidArgument;
  *device = &gpus[index];
  return 0;
}
Return nvmlDeviceGetUUID(Device device, char* text, unsigned bytes) {
  std::strncpy(text, number(device) == 0 ? "GPU-aaaa" : "GPU-bbbb", bytes);
  return 0;
}
Return nvmlDeviceGetName(Device, char* text, unsigned bytes) {
  std::strncpy(text, "Fake GPU", bytes);
  return 0;
}
Return nvmlDeviceGetClockInfo(Device device, unsigned which, unsigned* mhz) {
  while (behaves("hang")) usleep(10'000);
  *mhz = (which == 1 ? 1980 : 2619) - 600 * number(device);
  return 0;
}
Return nvmlDeviceGetPowerUsage(Device, unsigned* milliwatts) {
  if (behaves("no_power")) return kNotSupported;
  *milliwatts = 412'345;
  return 0;
}
Return nvmlDeviceGetTotalEnergyConsumption(Device device, unsigned long long* millijoules) {
  if (number(device) == 1) return kNotSupported;
  *millijoules = 7'000'000'000;
  return 0;
}
Return nvmlDeviceGetTemperature(Device device, unsigned, unsigned* celsius) {
  *celsius = 45 + 40 * number(device);
  return 0;
}
Return nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long* reasons) {
  *reasons = number(device) == 0 ? 0 : 0x40;  // hardware thermal slowdown
  return 0;
}
Return nvmlDeviceGetMemoryInfo(Device, MemoryInfo* memory) {
  *memory = {80ULL << 30, 50ULL << 30, 30ULL << 30};
  return 0;
}
Return nvmlDeviceGetUtilizationRates(Device, Utilization* utilization) {
  *utilization = {97, 41};
  return 0;
}
}
