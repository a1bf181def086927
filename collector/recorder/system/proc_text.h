// SPDX-License-Identifier: Apache-2.0
// Parsers for files of /proc and of cgroups: text in, numbers out. No input is trusted: a process
// chooses its name, and a file can end early because its process just did.
//
// Threading  pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/thread_wait.h"

namespace dprof::recorder {

inline constexpr int64_t kKilobyte = 1024;  // the kernel's kB

// /proc/PID/stat; sums over all its threads.
struct ProcessStat {
  char state = '?';
  int64_t minor_faults = 0;
  int64_t major_faults = 0;
  int64_t kernel_ticks = 0;  // CPU time in the kernel; sysconf(_SC_CLK_TCK) a second
  int64_t threads = 0;
};
[[nodiscard]] std::optional<ProcessStat> parse_process_stat(std::string_view text);

// /proc/PID/task/TID/schedstat
struct ThreadTimes {
  int64_t cpu_ns = 0;
  int64_t run_queue_ns = 0;  // runnable, without a CPU
  friend bool operator==(const ThreadTimes&, const ThreadTimes&) = default;
};
[[nodiscard]] std::optional<ThreadTimes> parse_schedstat(std::string_view text);

// /proc/PID/task/TID/wchan: the kernel function in which the thread waits. nullopt = "0": it does
// not wait, or the kernel does not say.
[[nodiscard]] std::optional<schema::ThreadWait> parse_wait_channel(std::string_view text);

// /proc/PID/task/TID/syscall: "running", or the number of the system call (of this machine's
// architecture) in which it waits. Coarser than the wait channel: a read can be of anything.
[[nodiscard]] std::optional<schema::ThreadWait> parse_system_call(std::string_view text);

// "KEY:  123 kB" and "KEY 123": in /proc/PID/status, /proc/meminfo, cpu.stat, memory.events. The
// value as written, without its unit.
[[nodiscard]] std::optional<int64_t> parse_value(std::string_view text, std::string_view key);

// The last number of "NSpid:  4711  12": the id in the process's own namespace.
[[nodiscard]] std::optional<int64_t> parse_own_id(std::string_view status);

// First line of /proc/stat, in clock ticks of all CPUs.
struct HostTimes {
  int64_t busy = 0;    // user, nice, system, interrupts
  int64_t steal = 0;   // taken by the hypervisor
  int64_t iowait = 0;  // idle while a read or write was in progress
};
[[nodiscard]] std::optional<HostTimes> parse_host_times(std::string_view text);

// "1.25 0.80 0.60 3/512 4711": the first, in thousandths, and the number of runnable tasks.
struct Load {
  int64_t one_minute_milli = 0;
  int64_t runnable = 0;
};
[[nodiscard]] std::optional<Load> parse_load(std::string_view text);

// One interface's line of /proc/net/dev; `text` is advanced past it. None at the end.
struct InterfaceCounters {
  std::string_view name;
  int64_t rx_bytes = 0, tx_bytes = 0;
  int64_t errors = 0, dropped = 0;  // received and sent
};
[[nodiscard]] std::optional<InterfaceCounters> next_interface(std::string_view& text);

// A field of /proc/net/snmp, which has a line of names and one of values: ("Tcp", "RetransSegs").
[[nodiscard]] std::optional<int64_t> parse_protocol_counter(std::string_view text,
                                                            std::string_view protocol,
                                                            std::string_view field);

// total of the line "some …" of /proc/pressure/*, in microseconds.
[[nodiscard]] std::optional<int64_t> parse_pressure_us(std::string_view text);

// The path of a cgroup in /proc/PID/cgroup: of version 2 ("0::/a/b") for an empty controller, else
// of the controller's version-1 hierarchy.
[[nodiscard]] std::optional<std::string> parse_cgroup_path(std::string_view text,
                                                           std::string_view controller);

// One number and nothing else: memory.max, a counter of /sys. nullopt for "max", and for the value
// of a version-1 memory limit that is not set.
[[nodiscard]] std::optional<int64_t> parse_number(std::string_view text);
[[nodiscard]] std::optional<int64_t> parse_memory_limit(std::string_view text);

}  // namespace dprof::recorder
