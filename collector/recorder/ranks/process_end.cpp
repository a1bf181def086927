// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/ranks/process_end.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <fstream>
#include <string>

namespace dprof::recorder {
namespace {

// From Linux's pidfd.h; Debian 12's version is older.
struct PidfdInfo {
  uint64_t mask;
  uint64_t cgroup;
  uint32_t ids[11];
  int32_t exit_code;  // as from waitpid()
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr uint64_t kInfoExit = 1 << 3;
constexpr unsigned long kGetInfo = _IOWR(0xff, 11, PidfdInfo);

std::optional<ExitStatus> of_reaped(int pidfd) {
  PidfdInfo info{};
  info.mask = kInfoExit;
  if (ioctl(pidfd, kGetInfo, &info) != 0 || (info.mask & kInfoExit) == 0) return std::nullopt;
  return ExitStatus{info.exit_code};
}

// "pid (name) Z ppid … exit_code": field 52, the last.
std::optional<ExitStatus> of_zombie(int pidfd, int pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');
  const size_t last = text.rfind(' ');
  if (name_end == std::string::npos || last <= name_end + 3 || text[name_end + 2] != 'Z')
    return std::nullopt;
  int status = 0;
  const auto [end, error] =
      std::from_chars(text.data() + last + 1, text.data() + text.size(), status);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  // Not yet waited for: then the pid was its own all the time.
  if (syscall(SYS_pidfd_send_signal, pidfd, 0, nullptr, 0) != 0) return std::nullopt;
  return ExitStatus{status};
}

}  // namespace

std::optional<ExitStatus> exit_status_of(int pidfd, int pid) {
  if (pidfd < 0) return std::nullopt;
  if (pid > 0) {
    if (const std::optional<ExitStatus> status = of_zombie(pidfd, pid)) return status;
  }
  return of_reaped(pidfd);
}

}  // namespace dprof::recorder
