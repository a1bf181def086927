// SPDX-License-Identifier: Apache-2.0
// The part of NVML (libnvidia-ml.so.1) that the recorder uses, as run-time entry points: declared
// here as facts of its binary interface, so that everything builds without NVIDIA's headers.
#pragma once

#include <cstdint>

namespace dprof::recorder::nvml {

using Return = int;
inline constexpr Return kSuccess = 0;

using Device = void*;

inline constexpr unsigned kClockSm = 1;
inline constexpr unsigned kClockMemory = 2;
inline constexpr unsigned kTemperatureGpu = 0;
inline constexpr unsigned kUncorrected = 1;  // nvmlMemoryErrorType_t
inline constexpr unsigned kVolatile = 0;     // nvmlEccCounterType_t: since the driver was loaded
inline constexpr unsigned kUuidBytes = 96;

struct MemoryInfo {
  unsigned long long total, free, used;  // NOLINT: the names of the interface
};
static_assert(sizeof(MemoryInfo) == 24);

struct Utilization {  // percent of the last sampling period
  unsigned gpu, memory;
};
static_assert(sizeof(Utilization) == 8);

// One entry for each function: `name` in the library. `needed`: without it nothing is sampled.
struct Table {
  Return (*init)() = nullptr;                                         // nvmlInit_v2
  Return (*shutdown)() = nullptr;                                     // nvmlShutdown
  const char* (*error_string)(Return) = nullptr;                      // nvmlErrorString
  Return (*device_count)(unsigned*) = nullptr;                        // …GetCount_v2
  Return (*device_by_index)(unsigned, Device*) = nullptr;             // …HandleByIndex_v2
  Return (*uuid)(Device, char*, unsigned) = nullptr;                  // …GetUUID
  Return (*name)(Device, char*, unsigned) = nullptr;                  // …GetName
  Return (*clock)(Device, unsigned, unsigned*) = nullptr;             // …GetClockInfo, MHz
  Return (*power)(Device, unsigned*) = nullptr;                       // …, mW
  Return (*power_limit)(Device, unsigned*) = nullptr;                 // …Enforced…, mW
  Return (*energy)(Device, unsigned long long*) = nullptr;            // …, mJ
  Return (*temperature)(Device, unsigned, unsigned*) = nullptr;       // …, C
  Return (*throttle_reasons)(Device, unsigned long long*) = nullptr;  // …, bit mask
  Return (*memory)(Device, MemoryInfo*) = nullptr;                    // …GetMemoryInfo
  Return (*utilization)(Device, Utilization*) = nullptr;              // …GetUtilizationRates
  Return (*ecc_errors)(Device, unsigned, unsigned, unsigned long long*) = nullptr;  // …GetTotal…
};

// Visits (name, needed, pointer to the entry) of each function.
template <typename Visit>
void for_each_function(Table& table, Visit&& visit) {
  visit("nvmlInit_v2", true, table.init);
  visit("nvmlShutdown", true, table.shutdown);
  visit("nvmlDeviceGetCount_v2", true, table.device_count);
  visit("nvmlDeviceGetHandleByIndex_v2", true, table.device_by_index);
  visit("nvmlErrorString", false, table.error_string);
  visit("nvmlDeviceGetUUID", false, table.uuid);
  visit("nvmlDeviceGetName", false, table.name);
  visit("nvmlDeviceGetClockInfo", false, table.clock);
  visit("nvmlDeviceGetPowerUsage", false, table.power);
  visit("nvmlDeviceGetEnforcedPowerLimit", false, table.power_limit);
  visit("nvmlDeviceGetTotalEnergyConsumption", false, table.energy);
  visit("nvmlDeviceGetTemperature", false, table.temperature);
  visit("nvmlDeviceGetCurrentClocksThrottleReasons", false, table.throttle_reasons);
  visit("nvmlDeviceGetMemoryInfo", false, table.memory);
  visit("nvmlDeviceGetUtilizationRates", false, table.utilization);
  visit("nvmlDeviceGetTotalEccErrors", false, table.ecc_errors);
}

}  // namespace dprof::recorder::nvml
