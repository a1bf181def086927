// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/doctor/doctor.h"

#include <unistd.h>

#include <algorithm>

#include "collector/recorder/doctor/doctor_checks_internal.h"
#include "collector/recorder/run/run_folder.h"

namespace dprof::recorder {
namespace {

class Verdicts {
 public:
  explicit Verdicts(Diagnosis& diagnosis) : diagnosis_(diagnosis) {}

  // `what` can be recorded if all `needs` can.
  void add(std::string what, const std::vector<const char*>& needs) {
    for (const char* name : needs) {
      const auto found = std::ranges::find(diagnosis_.checks, name, &Check::name);
      if (found == diagnosis_.checks.end() || found->state != Ability::kNo) continue;
      diagnosis_.recordable.push_back({std::move(what), false, found->name + ": " + found->found});
      return;
    }
    diagnosis_.recordable.push_back({std::move(what), true, {}});
  }

 private:
  Diagnosis& diagnosis_;
};

}  // namespace

Result<Diagnosis> examine(const DoctorOptions& options) {
  Diagnosis diagnosis;
  diagnosis.host = host_name();
  diagnosis.dprof_version = DPROF_VERSION;
  std::vector<Check>& checks = diagnosis.checks;
  const RunClock clock = RunClock::start();

  checks.push_back(check_library(options));
  if (checks.back().state != Ability::kNo) checks.push_back(check_self_test(options));
  checks.push_back(check_clock(clock));
  checks.push_back(check_record_cost(clock));
  checks.push_back(check_shared_memory());
  checks.push_back(check_process_handles());
  checks.push_back(check_limits());
  checks.push_back(check_memory());
  checks.push_back(check_folder(options.folder));

  const FoundTorch torch = find_torch();
  const Check torch_library = check_torch_library(options);
  checks.push_back(torch_library);
  checks.push_back(check_torch(options, torch, torch_library));

  const Check driver = check_cuda_driver();
  checks.push_back(driver);
  checks.push_back(check_cupti(torch, driver));
  checks.push_back(check_nccl(torch));
  checks.push_back(check_nvml());

  checks.push_back(check_thread_times());
  checks.push_back(check_network_counters());
  checks.push_back(check_other_tools());
  checks.push_back(check_launchers());

  Verdicts verdicts(diagnosis);
  verdicts.add("ranges, steps and phases marked by NVTX",
               {"libdprof.so", "self-test", "shared memory", "limits"});
  verdicts.add("PyTorch's ops, DDP's buckets, Gloo's collectives",
               {"libdprof.so", "self-test", "limits", "libdprof_torch.so", "Python's torch"});
  verdicts.add("GPU kernels, copies and CUDA calls",
               {"libdprof.so", "self-test", "CUDA driver", "CUPTI"});
  verdicts.add("NCCL's collectives", {"libdprof.so", "self-test", "CUDA driver", "NCCL"});
  verdicts.add("GPU clocks, power, throttling", {"libdprof.so", "CUDA driver", "NVML"});
  verdicts.add("CPU time and run-queue delay of threads", {"libdprof.so", "thread times"});
  verdicts.add("resident memory, host load, network traffic", {"libdprof.so", "network counters"});
  return diagnosis;
}

}  // namespace dprof::recorder
