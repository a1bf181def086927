// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/launch/check_env.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <sched.h>
#include <time.h>
#include <torch/version.h>
#include <unistd.h>

#include <exception>
#include <fstream>
#include <sstream>

#include "trainer_harness/nccl/nccl_module.h"
#include "trainer_harness/ranks/rendezvous.h"
#include "trainer_harness/techniques/markers.h"

namespace dprof::trainer_harness {
namespace {

std::string first_line(std::string text) { return text.substr(0, text.find('\n')); }

// "yes", or "no" with the reason.
std::string nccl_text() {
  try {
    (void)load_nccl();
    return "yes";
  } catch (const std::exception& error) {
    return "no: " + first_line(error.what());
  }
}

std::string gpu_text() {
  if (!at::globalContext().hasCUDA()) return "none";
  return std::to_string(static_cast<int>(at::detail::getCUDAHooks().deviceCount()));
}

std::string rank_text() {
  try {
    const std::optional<Rendezvous> found = find_rendezvous(process_environment);
    if (!found) return "none: a single process";
    return "rank " + std::to_string(found->rank) + " of " + std::to_string(found->world_size) +
           ", local rank " + std::to_string(found->local_rank) + ", meets at " +
           found->master_address + ":" + std::to_string(found->master_port);
  } catch (const std::exception& error) {
    return "wrong: " + first_line(error.what());
  }
}

std::string core_text() {
  cpu_set_t cores;
  const bool known = sched_getaffinity(0, sizeof(cores), &cores) == 0;
  return (known ? std::to_string(CPU_COUNT(&cores)) : "unknown") + " usable of " +
         std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) + ", computing threads " +
         std::to_string(at::get_num_threads());
}

std::string clock_text() {
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string source = "unknown";
  file >> source;
  timespec resolution{};
  clock_getres(CLOCK_MONOTONIC_RAW, &resolution);
  return source + ", resolution of CLOCK_MONOTONIC_RAW " + std::to_string(resolution.tv_nsec) +
         " ns";
}

std::string host_text() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "unknown";
}

}  // namespace

std::string environment_text() {
  std::ostringstream text;
  text << "torch:    " << TORCH_VERSION << "\n"
       << "build:    "
       << "gcc " << __VERSION__ << ", CPU " << at::get_cpu_capability() << "\n"
       << "gloo:     yes\n"
       << "nccl:     " << nccl_text() << "\n"
       << "gpus:     " << gpu_text() << "\n"
       << "nvtx:     " << (kHasNvtx ? "yes" : "no: built without its headers") << "\n"
       << "host:     " << host_text() << "\n"
       << "rank:     " << rank_text() << "\n"
       << "cores:    " << core_text() << "\n"
       << "clock:    " << clock_text() << "\n";
  return text.str();
}

}  // namespace dprof::trainer_harness
