// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/system/proc_host.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace dprof::recorder {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kPortDataUnit = 4;  // port_rcv_data and port_xmit_data count words of 4 bytes
// A host with containers has hundreds of virtual interfaces.
constexpr size_t kMostInterfaces = 64;

// Children of a folder, in order; none if it does not exist.
std::vector<fs::path> children(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    found.push_back(entry->path());
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace

std::vector<fs::path> cgroup_folders(const SystemRoots& roots, std::string_view cgroup_file,
                                     std::string_view controller) {
  const fs::path mounted = roots.sys / "fs/cgroup";
  std::error_code error;
  // Version 2 alone, version 2 next to version 1, version 1.
  fs::path root = mounted;
  std::optional<std::string> path;
  const bool unified = fs::exists(mounted / "cgroup.controllers", error);
  if (!unified) path = parse_cgroup_path(cgroup_file, controller);
  if (path) {
    root = mounted / std::string(controller);
  } else {
    path = parse_cgroup_path(cgroup_file, "");
    if (!unified) root = mounted / "unified";
  }
  if (!path || !fs::is_directory(root, error)) return {};
  std::vector<fs::path> folders;
  // In a container the path can be the host's, of which only the container's own part is mounted.
  for (fs::path part = fs::path(*path).relative_path(); !part.empty(); part = part.parent_path()) {
    if (fs::is_directory(root / part, error)) folders.push_back(root / part);
  }
  folders.push_back(root);
  return folders;
}

std::optional<int64_t> cgroup_memory_limit(FileText& file, const std::vector<fs::path>& folders) {
  std::optional<int64_t> lowest;
  for (const fs::path& folder : folders) {
    for (const char* name : {"memory.max", "memory.limit_in_bytes"}) {
      const std::optional<int64_t> limit = parse_memory_limit(file.read(folder / name));
      if (limit && (!lowest || *limit < *lowest)) lowest = limit;
    }
  }
  return lowest;
}

HostSampler::HostSampler(const RunClock& clock, SystemRoots roots, KindNames& names)
    : clock_(clock),
      roots_(std::move(roots)),
      names_(names),
      ns_per_tick_(kNsPerSecond / std::max<int64_t>(1, sysconf(_SC_CLK_TCK))) {
  find_ports();
  find_energy_zones();
}

void HostSampler::deliver_value(std::string_view kind, std::optional<int64_t> value,
                                const Deliver& deliver, int64_t scale,
                                std::optional<int64_t> subject) const {
  int64_t scaled = 0;
  if (!value || __builtin_mul_overflow(*value, scale, &scaled)) return;
  deliver(SystemSample{clock_.now().ns, kind, subject, scaled});
}

void HostSampler::sample(FileText& file, int pid, bool fresh, const Deliver& deliver) {
  sample_load(file, deliver);
  sample_cgroup(file, pid, deliver);
  sample_interfaces(file, fresh, deliver);
  sample_ports(file, deliver);
  sample_energy(file, deliver);
}

void HostSampler::sample_load(FileText& file, const Deliver& deliver) {
  if (const auto times = parse_host_times(file.read(roots_.proc / "stat"))) {
    deliver_value("host.cpu_busy_ns", times->busy, deliver, ns_per_tick_);
    deliver_value("host.cpu_steal_ns", times->steal, deliver, ns_per_tick_);
    deliver_value("host.cpu_iowait_ns", times->iowait, deliver, ns_per_tick_);
  }
  if (const auto load = parse_load(file.read(roots_.proc / "loadavg"))) {
    deliver_value("host.load_1min_milli", load->one_minute_milli, deliver);
    deliver_value("host.runnable_threads", load->runnable, deliver);
  }
  deliver_value("host.memory_available_bytes",
                parse_value(file.read(roots_.proc / "meminfo"), "MemAvailable"), deliver,
                kKilobyte);
  for (const auto& [name, kind] :
       {std::pair("cpu", "host.cpu_pressure_ns"), std::pair("io", "host.io_pressure_ns"),
        std::pair("memory", "host.memory_pressure_ns")}) {
    deliver_value(kind, parse_pressure_us(file.read(roots_.proc / "pressure" / name)), deliver,
                  kNsPerUs);
  }
  deliver_value("host.tcp_retransmits",
                parse_protocol_counter(file.read(roots_.proc / "net/snmp"), "Tcp", "RetransSegs"),
                deliver);
}

void HostSampler::sample_cgroup(FileText& file, int pid, const Deliver& deliver) {
  if (pid != cgroup_pid_) {
    cgroup_pid_ = pid;
    const std::string own(file.read(roots_.proc / std::to_string(pid) / "cgroup"));
    cpu_folders_ = cgroup_folders(roots_, own, "cpu");
    memory_folders_ = cgroup_folders(roots_, own, "memory");
  }
  // A parent's quota throttles as well, and is counted there.
  std::optional<int64_t> throttled_ns, periods;
  for (const fs::path& folder : cpu_folders_) {
    const std::string_view text = file.read(folder / "cpu.stat");
    std::optional<int64_t> time_ns = parse_value(text, "throttled_time");  // version 1
    if (const auto time_us = parse_value(text, "throttled_usec")) time_ns = *time_us * kNsPerUs;
    if (time_ns) throttled_ns = throttled_ns.value_or(0) + *time_ns;
    const auto count = parse_value(text, "nr_throttled");
    if (count) periods = periods.value_or(0) + *count;
  }
  deliver_value("cgroup.cpu_throttled_ns", throttled_ns, deliver);
  deliver_value("cgroup.cpu_throttled_periods", periods, deliver);
  deliver_value("cgroup.memory_limit_bytes", cgroup_memory_limit(file, memory_folders_), deliver);
  if (memory_folders_.empty()) return;
  const fs::path& own = memory_folders_.front();
  std::optional<int64_t> used = parse_number(file.read(own / "memory.current"));
  if (!used) used = parse_number(file.read(own / "memory.usage_in_bytes"));
  deliver_value("cgroup.memory_bytes", used, deliver);
  deliver_value("cgroup.oom_kills", parse_value(file.read(own / "memory.events"), "oom_kill"),
                deliver);
}

HostSampler::Interface* HostSampler::interface(FileText& file, std::string_view name,
                                               const Deliver& deliver) {
  const auto known = interfaces_.find(name);
  if (known != interfaces_.end()) return &known->second;
  if (interfaces_.size() >= kMostInterfaces) {
    if (!interfaces_reported_) {
      deliver(RecorderDiagnostic{
          "not_sampled", 1,
          fmt::format("only the first {} network interfaces are sampled", kMostInterfaces)});
    }
    interfaces_reported_ = true;
    return nullptr;
  }
  const std::string text(name);
  Interface added;
  added.rx_bytes = names_.keep(fmt::format("nic.{}.rx_bytes", text));
  added.tx_bytes = names_.keep(fmt::format("nic.{}.tx_bytes", text));
  added.errors = names_.keep(fmt::format("nic.{}.errors", text));
  added.dropped = names_.keep(fmt::format("nic.{}.dropped", text));
  added.index = parse_number(file.read(roots_.sys / "class/net" / text / "ifindex")).value_or(0);
  return &interfaces_.emplace(text, added).first->second;
}

void HostSampler::sample_interfaces(FileText& file, bool fresh, const Deliver& deliver) {
  const std::string all(file.read(roots_.proc / "net/dev"));  // `file` is reused meanwhile
  std::string_view rest = all;
  while (const std::optional<InterfaceCounters> now = next_interface(rest)) {
    Interface* known = interface(file, now->name, deliver);
    if (known == nullptr) continue;
    const std::optional<InterfaceCounters> last = fresh ? std::nullopt : known->last;
    known->last = now;
    known->last->name = {};
    if (!last || last->rx_bytes != now->rx_bytes) {
      deliver_value(known->rx_bytes, now->rx_bytes, deliver, 1, known->index);
    }
    if (!last || last->tx_bytes != now->tx_bytes) {
      deliver_value(known->tx_bytes, now->tx_bytes, deliver, 1, known->index);
    }
    if (!last || last->errors != now->errors) {
      deliver_value(known->errors, now->errors, deliver, 1, known->index);
    }
    if (!last || last->dropped != now->dropped) {
      deliver_value(known->dropped, now->dropped, deliver, 1, known->index);
    }
  }
}

void HostSampler::find_ports() {
  for (const fs::path& device : children(roots_.sys / "class/infiniband")) {
    for (const fs::path& port : children(device / "ports")) {
      const std::optional<int64_t> number = parse_number(port.filename().string());
      if (!number) continue;
      const std::string name = "nic." + device.filename().string();
      ports_.push_back({port / "counters", *number, names_.keep(name + ".rx_bytes"),
                        names_.keep(name + ".tx_bytes"), names_.keep(name + ".rx_errors"),
                        names_.keep(name + ".tx_wait_ticks"), names_.keep(name + ".link_downed")});
    }
  }
}

void HostSampler::sample_ports(FileText& file, const Deliver& deliver) {
  for (const Port& port : ports_) {
    const auto counter = [&](const char* name) {
      return parse_number(file.read(port.counters / name));
    };
    deliver_value(port.rx_bytes, counter("port_rcv_data"), deliver, kPortDataUnit, port.number);
    deliver_value(port.tx_bytes, counter("port_xmit_data"), deliver, kPortDataUnit, port.number);
    deliver_value(port.rx_errors, counter("port_rcv_errors"), deliver, 1, port.number);
    deliver_value(port.tx_wait, counter("port_xmit_wait"), deliver, 1, port.number);
    deliver_value(port.link_downed, counter("link_downed"), deliver, 1, port.number);
  }
}

// Zones of the whole platform include these: they are left out.
void HostSampler::find_energy_zones() {
  FileText file;
  int64_t packages = 0;
  int64_t memories = 0;
  for (const fs::path& zone : children(roots_.sys / "class/powercap")) {
    const std::string name(file.read(zone / "name"));
    const bool package = name.starts_with("package");
    if (!package && !name.starts_with("dram")) continue;
    const std::optional<int64_t> range = parse_number(file.read(zone / "max_energy_range_uj"));
    energy_zones_.push_back({.counter = zone / "energy_uj",
                             .range_uj = range.value_or(0),
                             .kind = package ? "host.package_energy_uj" : "host.dram_energy_uj",
                             .number = package ? packages++ : memories++,
                             .last = {}});
  }
}

// Since Linux 5.10 only root can read the counters: without root there are no samples.
void HostSampler::sample_energy(FileText& file, const Deliver& deliver) {
  for (EnergyZone& zone : energy_zones_) {
    const std::optional<int64_t> now = parse_number(file.read(zone.counter));
    if (!now) continue;
    int64_t grown = *now - zone.last.value_or(*now);
    if (grown < 0) grown += zone.range_uj;
    zone.last = now;
    zone.sum_uj += std::max<int64_t>(0, grown);
    deliver_value(zone.kind, zone.sum_uj, deliver, 1, zone.number);
  }
}

}  // namespace dprof::recorder
