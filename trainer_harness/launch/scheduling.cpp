// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/launch/scheduling.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

#include "trainer_harness/common/usage_error.h"

namespace dprof::trainer_harness {
namespace {

[[noreturn]] void refuse(std::string_view text, std::string_view what) {
  throw UsageError(fmt::format(
      "--affinity \"{}\": {}\nhint: cores of each local rank, as in \"0;1\" or \"0-1,4;2,3\"", text,
      what));
}

int core_number(std::string_view text, std::string_view part) {
  int core = 0;
  const char* const end = part.data() + part.size();
  const auto [stop, error] = std::from_chars(part.data(), end, core);
  if (error != std::errc{} || stop != end || core < 0 || core >= CPU_SETSIZE) {
    refuse(text, fmt::format("'{}' is no core", part));
  }
  return core;
}

std::vector<int> cores_of(std::string_view text, std::string_view entry) {
  std::vector<int> cores;
  for (;;) {
    const size_t comma = entry.find(',');
    const std::string_view part = entry.substr(0, comma);
    const size_t dash = part.find('-');
    const int first = core_number(text, part.substr(0, dash));
    const int last =
        dash == std::string_view::npos ? first : core_number(text, part.substr(dash + 1));
    if (last < first) refuse(text, fmt::format("'{}' goes backwards", part));
    for (int core = first; core <= last; ++core) cores.push_back(core);
    if (comma == std::string_view::npos) return cores;
    entry = entry.substr(comma + 1);
  }
}

}  // namespace

std::vector<std::vector<int>> parse_affinity(const std::string& text) {
  std::vector<std::vector<int>> ranks;
  std::string_view rest = text;
  for (;;) {
    const size_t semicolon = rest.find(';');
    ranks.push_back(cores_of(text, rest.substr(0, semicolon)));
    if (semicolon == std::string_view::npos) return ranks;
    rest = rest.substr(semicolon + 1);
  }
}

void set_niceness(int niceness) {
  if (setpriority(PRIO_PROCESS, 0, niceness) == 0) return;
  throw UsageError(fmt::format("--nice {}: {}\nhint: a process can only become nicer", niceness,
                               std::strerror(errno)));
}

void set_affinity(const std::string& text, int local_rank) {
  const std::vector<std::vector<int>> ranks = parse_affinity(text);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (const int core : ranks[static_cast<size_t>(local_rank) % ranks.size()])
    CPU_SET(core, &cores);
  if (sched_setaffinity(0, sizeof(cores), &cores) == 0) return;
  refuse(text, fmt::format("local rank {} cannot run there: {}", local_rank, std::strerror(errno)));
}

}  // namespace dprof::trainer_harness
