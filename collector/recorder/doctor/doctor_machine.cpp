// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/format.h"
#include "collector/recorder/common/file_system.h"
#include "collector/recorder/doctor/doctor_checks_internal.h"
#include "collector/recorder/ranks/server.h"
#include "collector/recorder/recording/process_recording.h"
#include "collector/recorder/system/proc_host.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

namespace dprof::recorder {
namespace {

constexpr int64_t kFewBytes = int64_t{2} << 30;  // ample for a run of some minutes
// Beside the rings a process of PyTorch maps some tens of GB.
constexpr uint64_t kFewAddresses = uint64_t{16} << 30;

std::string kernel_release() {
  utsname names{};
  return uname(&names) == 0 ? names.release : "";
}

std::string limit_text(rlim_t limit) {
  return limit == RLIM_INFINITY ? "unlimited" : format_bytes(static_cast<int64_t>(limit));
}

}  // namespace

Check check_clock(const RunClock& clock) {
  Check check{kRecordingArea, "clock", Ability::kOk, {}, {}, {}};
  if (clock.scale().source == wire::ClockSource::kTsc) {
    check.found = fmt::format("the CPU's tick counter, {:.3f} GHz", clock.ticks_per_second() / 1e9);
    return check;
  }
  check.state = Ability::kLimited;
  check.found =
      "clock_gettime: the CPU's tick counter is not constant, or the kernel does not use it";
  check.meaning = "each record costs about 15 ns more; nothing is lost";
  check.hint =
      "see /sys/devices/system/clocksource/clocksource0/current_clocksource: wanted is tsc";
  return check;
}

Check check_record_cost(const RunClock& clock) {
  constexpr double kDearNs = 200;
  double best_ns = measure_record_cost(clock);
  for (int i = 0; i < 4; ++i) best_ns = std::min(best_ns, measure_record_cost(clock));
  Check check{kRecordingArea,
              "one record",
              Ability::kOk,
              fmt::format("{:.0f} ns of the training thread's time", best_ns),
              {},
              {}};
  if (best_ns <= kDearNs) return check;
  check.state = Ability::kLimited;
  check.meaning = "recording costs more than usual";
  check.hint = "is the machine busy, or emulated? `--detail light` records least";
  return check;
}

Check check_shared_memory() {
  Check check{kRecordingArea, "shared memory", Ability::kOk, {}, {}, {}};
  const Descriptor memory(memfd_create("dprof", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* shared = MAP_FAILED;
  const bool made = memory.valid() && ftruncate(memory.get(), static_cast<off_t>(page)) == 0 &&
                    fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK) == 0;
  if (made) shared = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  void* own = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool wiped = own != MAP_FAILED && madvise(own, page, MADV_WIPEONFORK) == 0;
  const int error = errno;
  const bool populated = shared != MAP_FAILED && madvise(shared, page, MADV_POPULATE_WRITE) == 0;
  if (shared == MAP_FAILED || !wiped) {
    check.state = Ability::kNo;
    check.found = fmt::format("Linux {}: {}: {}", kernel_release(),
                              wiped ? "memfd" : "MADV_WIPEONFORK", std::strerror(error));
    check.meaning = "no process can be recorded";
    check.hint = "Linux 4.14 or later is needed; a container's seccomp rules may forbid memfd";
  } else if (!populated) {
    check.state = Ability::kLimited;
    check.found = fmt::format("Linux {}: memfd; no MADV_POPULATE_WRITE", kernel_release());
    check.meaning = "a thread's first records cost page faults, some 0.2 us each";
    check.hint = "Linux 5.14 or later";
  } else {
    check.found = fmt::format("Linux {}: memfd, populated ahead, wiped at fork", kernel_release());
  }
  if (shared != MAP_FAILED) munmap(shared, page);
  if (own != MAP_FAILED) munmap(own, page);
  return check;
}

Check check_process_handles() {
  Check check{kRecordingArea, "process handles", Ability::kOk, "pidfd", {}, {}};
  const Descriptor handle(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  if (handle.valid()) return check;
  check.state = Ability::kLimited;
  check.found = fmt::format("no pidfd: {}", std::strerror(errno));
  check.meaning = "the end of a rank is seen by its socket only: later, if a child holds it open";
  check.hint = "Linux 5.3 or later; a container's seccomp rules may forbid it";
  return check;
}

Check check_limits() {
  rlimit file{RLIM_INFINITY, 0}, addresses{RLIM_INFINITY, 0};
  getrlimit(RLIMIT_FSIZE, &file);
  getrlimit(RLIMIT_AS, &addresses);
  Check check{kRecordingArea,
              "limits",
              Ability::kOk,
              fmt::format("file size {}, address space {}", limit_text(file.rlim_cur),
                          limit_text(addresses.rlim_cur)),
              {},
              {}};
  if (file.rlim_cur < wire::kTotalBytes || addresses.rlim_cur < wire::kTotalBytes) {
    check.state = Ability::kNo;
    check.meaning = fmt::format(
        "a process cannot map its rings ({} of addresses; pages only where used): it records nothing",
        format_bytes(static_cast<int64_t>(wire::kTotalBytes)));
    check.hint = "ulimit -f unlimited; ulimit -v unlimited";
  } else if (addresses.rlim_cur < kFewAddresses) {
    check.state = Ability::kLimited;
    check.meaning = "a process that is close to its address space may not find room for its rings";
    check.hint = "ulimit -v unlimited";
  }
  return check;
}

Check check_memory() {
  const SystemRoots roots;
  FileText file;
  const std::string own(file.read("/proc/self/cgroup"));
  const std::optional<int64_t> limit =
      cgroup_memory_limit(file, cgroup_folders(roots, own, "memory"));
  const int64_t available =
      parse_value(file.read("/proc/meminfo"), "MemAvailable").value_or(0) * 1024;
  const int64_t room = std::min(available, limit.value_or(INT64_MAX));
  Check check{kRecordingArea,
              "memory",
              Ability::kOk,
              fmt::format("{} available, cgroup limit {}", format_bytes(available),
                          limit ? format_bytes(*limit) : "none"),
              {},
              {}};
  if (room >= kFewBytes) return check;
  check.state = Ability::kLimited;
  check.meaning = "each thread that records takes 1 MiB of it, each process some more";
  check.hint = "leave room, or use `--detail light`";
  return check;
}

Check check_folder(const std::filesystem::path& folder) {
  Check check{kRecordingArea, "run folder", Ability::kOk, {}, {}, {}};
  struct statfs status {};
  if (statfs(folder.c_str(), &status) != 0) {
    check.state = Ability::kNo;
    check.found = fmt::format("{}: {}", folder.string(), std::strerror(errno));
    check.meaning = "no run can be written here";
    check.hint = "dprof record -o FOLDER";
    return check;
  }
  const std::optional<std::string> network = network_file_system(folder);
  const bool in_memory = status.f_type == TMPFS_MAGIC;
  const auto free_bytes =
      static_cast<int64_t>(status.f_bavail) * static_cast<int64_t>(status.f_bsize);
  check.found =
      fmt::format("{}: {}, {} free", folder.string(),
                  network ? *network : (in_memory ? "in memory (tmpfs)" : "a local file system"),
                  format_bytes(free_bytes));
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    check.state = Ability::kNo;
    check.meaning = "no run can be written here";
    check.hint = "dprof record -o FOLDER, in a folder of yours";
  } else if (network) {
    check.state = Ability::kLimited;
    check.meaning = "recording costs more there, and a trace can be read only when it is finished";
    check.hint = "dprof record -o /local/folder; `dprof report` takes the folders of all hosts";
  } else if (free_bytes < kFewBytes) {
    check.state = Ability::kLimited;
    check.meaning = "a full disk ends the traces early; the loss is counted";
    check.hint = "free some space, or -o elsewhere";
  }
  return check;
}

Check check_thread_times() {
  Check check{
      kSystemArea, "thread times", Ability::kOk, "CPU and run-queue delay of each thread", {}, {}};
  FileText file;
  if (parse_schedstat(file.read("/proc/thread-self/schedstat"))) return check;
  check.state = Ability::kNo;
  check.found = "/proc/thread-self/schedstat cannot be read";
  check.meaning = "no CPU time and no run-queue delay: CPU contention cannot be detected";
  check.hint = "the kernel needs CONFIG_SCHED_INFO, and /proc must be mounted";
  return check;
}

Check check_network_counters() {
  Check check{kSystemArea, "network counters", Ability::kOk, {}, {}, {}};
  FileText file;
  const std::string all(file.read("/proc/net/dev"));
  std::string_view rest = all;
  std::vector<std::string> names;
  while (const auto interface = next_interface(rest)) names.emplace_back(interface->name);
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/sys/class/infiniband", error), end;
       !error && entry != end; entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  constexpr size_t kShown = 6;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    check.found += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kShown) check.found += fmt::format(" and {} more", names.size() - kShown);
  if (!names.empty()) return check;
  check.state = Ability::kNo;
  check.found = "none";
  check.meaning = "no network traffic in the traces";
  return check;
}

}  // namespace dprof::recorder
