// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/faults/slow_link.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <net/if.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <string_view>

#include "trainer_harness/common/usage_error.h"

namespace dprof::trainer_harness {
namespace {

// A bucket holds half a millisecond of traffic: enough to bridge a late timer, and so little that a
// small message is slowed like a large one. It must hold at least two frames.
constexpr double kBurstSeconds = 0.0005;
constexpr int64_t kLeastBurstBytes = 3200;
constexpr double kBitsPerMbit = 1e6;
constexpr double kLongestDelayMs = 60'000;
constexpr int kNetemFrames = 100'000;  // queue length: 150 MB, so that a delay drops no frame

constexpr std::string_view kHint = "start the job by scripts/hosts: its links may be slowed";

[[noreturn]] void refuse_link(const std::string& why, std::string_view hint = kHint) {
  throw UsageError(fmt::format("slow-link: {}\nhint: {}", why, hint));
}

struct Finished {
  int status = 0;  // -1: not started
  std::string errors;
};

// Only system programs, whatever PATH says: this runs as root.
std::string find_program(const std::string& name) {
  for (const char* folder : {"/usr/sbin/", "/usr/bin/", "/sbin/", "/bin/"}) {
    const std::string path = folder + name;
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 4096> part;
  for (;;) {
    const ssize_t count = read(file, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(part.data(), static_cast<size_t>(count));
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::ranges::replace(text, '\n', ' ');
  return text;
}

// With a clean environment, so that a profiler preloaded here is not loaded there.
Finished run_program(std::vector<std::string> command) {
  const std::string path = find_program(command.front());
  if (path.empty()) return {-1, command.front() + " is missing"};
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return {-1, std::strerror(errno)};

  std::vector<char*> arguments;
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  char search_path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
  char language[] = "LC_ALL=C";
  char* variables[] = {search_path, language, nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDERR_FILENO);
  pid_t child = 0;
  const int error =
      posix_spawn(&child, path.c_str(), &actions, nullptr, arguments.data(), variables);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  Finished finished;
  if (error != 0) {
    finished = {-1, std::strerror(error)};
  } else {
    finished.errors = read_all(pipe_ends[0]);
    while (waitpid(child, &finished.status, 0) < 0 && errno == EINTR) {
    }
  }
  close(pipe_ends[0]);
  return finished;
}

// Whether this kernel accepts `words` after "root" in a new network namespace, permissions
// aside.
Finished try_queue(const std::vector<std::string>& words) {
  std::vector<std::string> command = {"unshare", "--net", "tc", "qdisc",
                                      "add",     "dev",   "lo", "root"};
  command.insert(command.end(), words.begin(), words.end());
  return run_program(std::move(command));
}

const std::vector<std::string> kSomeRate = {"tbf",  "rate",  "1mbit",  "burst",
                                            "3200", "limit", "1000000"};

bool kernel_has_netem() {
  static const bool has_netem = try_queue({"netem", "delay", "1ms"}).status == 0;
  return has_netem;
}

ino_t network_of(const char* process) {
  struct stat status {};
  const std::string path = fmt::format("/proc/{}/ns/net", process);
  return stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

void check_limit(const LinkLimit& limit) {
  constexpr std::string_view kExample = "write for example slow-link:rank=1,rate=100,delay=5";
  if (limit.rate_mbit && !(std::isfinite(*limit.rate_mbit) && *limit.rate_mbit >= 0.1 &&
                           *limit.rate_mbit <= 100'000)) {
    refuse_link(fmt::format("rate={} is not a rate of 0.1 to 100000 Mbit/s", *limit.rate_mbit),
                kExample);
  }
  if (!(limit.delay_ms >= 0 && limit.delay_ms <= kLongestDelayMs)) {
    refuse_link(
        fmt::format("delay={} is not a time of 0 to {} ms", limit.delay_ms, kLongestDelayMs),
        kExample);
  }
  if (!(limit.loss >= 0 && limit.loss < 1)) {
    refuse_link(fmt::format("loss={} is not a share below 1", limit.loss), "loss=0.01 is 1 %");
  }
  if (!limit.rate_mbit && limit.delay_ms == 0 && limit.loss == 0) {
    refuse_link("nothing to slow", kExample);
  }
}

// Connects to scripts/hosts, which greets the one process that may slow the link.
int connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) refuse_link("DPROF_LINK_CONTROL is too long a path");
  path.copy(address.sun_path, path.size());
  const int control = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{.tv_sec = 10, .tv_usec = 0};
  setsockopt(control, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  if (control < 0 ||
      connect(control, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    const std::string why = std::strerror(errno);
    if (control >= 0) close(control);
    refuse_link(fmt::format("{}: {}", path, why), "scripts/hosts that made this host has ended");
  }
  return control;
}

// One line: "ok", or "error WHY".
std::string read_answer(int control) {
  std::string line;
  char letter = 0;
  while (recv(control, &letter, 1, 0) == 1) {
    if (letter == '\n') return line;
    line += letter;
  }
  return "error scripts/hosts does not answer";
}

}  // namespace

std::vector<std::vector<std::string>> tc_commands(const std::string& interface,
                                                  const LinkLimit& limit, bool has_netem) {
  std::vector<std::vector<std::string>> commands;
  const std::vector<std::string> place = {"tc", "qdisc", "replace", "dev", interface};
  std::vector<std::string> parent = {"root", "handle", "1:"};
  const auto add = [&](std::vector<std::string> words) {
    commands.push_back(place);
    commands.back().insert(commands.back().end(), parent.begin(), parent.end());
    commands.back().insert(commands.back().end(), words.begin(), words.end());
    parent = {"parent", "1:1", "handle", "10:"};
  };
  if (has_netem && (limit.delay_ms > 0 || limit.loss > 0)) {
    add({"netem", "limit", std::to_string(kNetemFrames), "delay",
         fmt::format("{:.0f}us", limit.delay_ms * 1000), "loss",
         fmt::format("{:.6f}%", limit.loss * 100)});
  }
  if (limit.rate_mbit) {
    const double bits_per_second = *limit.rate_mbit * kBitsPerMbit;
    const auto burst =
        std::max(kLeastBurstBytes, static_cast<int64_t>(bits_per_second / 8 * kBurstSeconds));
    add({"tbf", "rate", fmt::format("{:.0f}bit", bits_per_second), "burst", std::to_string(burst),
         "latency", "1s"});
  }
  return commands;
}

SlowLink::SlowLink(const Environment& environment) {
  const auto network = environment("DPROF_HOST_NETWORK");
  const auto control = environment("DPROF_LINK_CONTROL");
  const auto interface = environment("GLOO_SOCKET_IFNAME");
  if (!network || !control || !interface) {
    refuse_link("this process is not on a host of scripts/hosts, and no other link may be slowed");
  }
  const ino_t own = network_of("self");
  if (own == 0 || std::to_string(own) != *network || own == network_of("1")) {
    refuse_link("DPROF_HOST_NETWORK names another network than that of this process");
  }
  if (geteuid() != 0) refuse_link("only root may slow a link", "run scripts/hosts as root");
  if (*interface == "lo" || if_nametoindex(interface->c_str()) == 0) {
    refuse_link(fmt::format("GLOO_SOCKET_IFNAME={} is no interface to another host", *interface));
  }
  interface_ = *interface;
  control_ = connect_to(*control);
  const std::string greeting = read_answer(control_);
  if (greeting == "ok " + *network) return;
  close(control_);
  const bool busy = greeting.starts_with("error ");
  refuse_link(
      busy ? greeting.substr(greeting.find(' ') + 1) : "DPROF_LINK_CONTROL is another host's",
      busy ? "one process per host may slow its link" : kHint);
}

SlowLink::~SlowLink() {
  lift_quietly();
  close(control_);
}

void SlowLink::apply(const LinkLimit& limit) {
  check_limit(limit);
  lift();
  const bool impaired = limit.delay_ms > 0 || limit.loss > 0;
  const bool has_netem = impaired && kernel_has_netem();
  try {
    if (impaired && !has_netem) {
      ask_forwarder(fmt::format("limit delay_ms={} loss={}", limit.delay_ms, limit.loss));
      forwarded_ = true;
    }
    for (const auto& command : tc_commands(interface_, limit, has_netem)) {
      const Finished finished = run_program(command);
      if (finished.status != 0) {
        refuse_link(fmt::format("tc: {}", finished.errors),
                    "dprof-trainer --list says what works here");
      }
      queue_set_ = true;
    }
  } catch (const UsageError&) {
    lift_quietly();
    throw;
  }
}

void SlowLink::lift() {
  if (queue_set_) {
    const Finished finished = run_program({"tc", "qdisc", "del", "dev", interface_, "root"});
    if (finished.status != 0) refuse_link(fmt::format("tc: {}", finished.errors));
    queue_set_ = false;
  }
  if (forwarded_) {
    ask_forwarder("lift");
    forwarded_ = false;
  }
}

// If scripts/hosts has ended, so has the link; else it lifts the limit when control_ closes.
void SlowLink::lift_quietly() {
  try {
    lift();
  } catch (const UsageError&) {
    queue_set_ = forwarded_ = false;
  }
}

void SlowLink::ask_forwarder(const std::string& request) {
  const std::string line = request + "\n";
  if (send(control_, line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size())) {
    refuse_link("scripts/hosts that made this host has ended");
  }
  if (const std::string answer = read_answer(control_); answer != "ok") {
    refuse_link(answer.substr(answer.find(' ') + 1));
  }
}

std::string slow_link_means() {
  const Finished finished = try_queue(kSomeRate);
  if (finished.status != 0) {
    return fmt::format("not possible here: {} (needs root, network namespaces and tc with tbf)",
                       finished.errors.empty() ? "refused" : finished.errors);
  }
  return kernel_has_netem()
             ? "rate: tbf; delay, loss: netem; under scripts/hosts"
             : "rate: tbf; delay, loss: forwarding process (the kernel has no netem); under scripts/hosts";
}

}  // namespace dprof::trainer_harness
