// SPDX-License-Identifier: Apache-2.0
// The host as a whole: load, memory, the cgroup of the first rank, network interfaces, energy.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collector/recorder/common/clock.h"
#include "collector/recorder/system/proc_files.h"
#include "collector/recorder/system/proc_text.h"

namespace dprof::recorder {

// The folders of a process's cgroup, from its own up to the visible root. Empty if the controller
// is not mounted.
[[nodiscard]] std::vector<std::filesystem::path> cgroup_folders(const SystemRoots& roots,
                                                                std::string_view cgroup_file,
                                                                std::string_view controller);

// The lowest memory limit of those folders.
[[nodiscard]] std::optional<int64_t> cgroup_memory_limit(
    FileText& file, const std::vector<std::filesystem::path>& folders);

// Threading  one thread.
// Cost       sample(): some 150 us on a small host.
class HostSampler {
 public:
  HostSampler(const RunClock& clock, SystemRoots roots, KindNames& names);

  // One round; `pid` is the process whose cgroup is sampled. `fresh`: the samples go to another
  // trace than before, which gets everything once.
  void sample(FileText& file, int pid, bool fresh, const Deliver& deliver);

 private:
  struct Port {  // of an InfiniBand (or RoCE) device
    std::filesystem::path counters;
    int64_t number = 0;
    std::string_view rx_bytes, tx_bytes, rx_errors, tx_wait, link_downed;
  };
  struct EnergyZone {  // of powercap (RAPL): a processor, or its memory
    std::filesystem::path counter;
    int64_t range_uj = 0;  // where the counter wraps to 0
    std::string_view kind;
    int64_t number = 0;
    std::optional<int64_t> last;
    int64_t sum_uj = 0;
  };
  struct Interface {
    int64_t index = 0;
    std::string_view rx_bytes, tx_bytes, errors, dropped;  // kinds
    std::optional<InterfaceCounters> last;
  };

  void sample_load(FileText& file, const Deliver& deliver);
  void sample_cgroup(FileText& file, int pid, const Deliver& deliver);
  void sample_interfaces(FileText& file, bool fresh, const Deliver& deliver);
  void sample_ports(FileText& file, const Deliver& deliver);
  void sample_energy(FileText& file, const Deliver& deliver);
  void find_ports();
  void find_energy_zones();
  [[nodiscard]] Interface* interface(FileText& file, std::string_view name, const Deliver& deliver);
  void deliver_value(std::string_view kind, std::optional<int64_t> value, const Deliver& deliver,
                     int64_t scale = 1, std::optional<int64_t> subject = std::nullopt) const;

  const RunClock& clock_;
  SystemRoots roots_;
  KindNames& names_;
  int64_t ns_per_tick_;
  int cgroup_pid_ = 0;  // whose folders these are
  std::vector<std::filesystem::path> cpu_folders_, memory_folders_;
  std::map<std::string, Interface, std::less<>> interfaces_;
  std::vector<Port> ports_;
  std::vector<EnergyZone> energy_zones_;
  bool interfaces_reported_ = false;
};

}  // namespace dprof::recorder
