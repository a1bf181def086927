// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/ranks/launcher.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "collector/recorder/common/open_files.h"

namespace dprof::recorder {
namespace {

constexpr int kSignalBase = 128;

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

int ExitStatus::code() const {
  return WIFSIGNALED(wait_status) ? kSignalBase + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

std::string ExitStatus::text() const {
  return WIFSIGNALED(wait_status) ? fmt::format("signal:{}", WTERMSIG(wait_status))
                                  : fmt::format("exit:{}", WEXITSTATUS(wait_status));
}

Status Launcher::start(const Environment& environment) {
  if (!options_.ranks) {
    const Result<pid_t> child = spawn(environment, 0, -1, -1);
    if (!child.ok()) return fail(child.error());
    running_[*child] = 0;
    return Done{};
  }
  const Result<int> port = free_port();
  if (!port.ok()) return fail(port.error());
  for (int rank = 0; rank < *options_.ranks; ++rank) {
    Environment of_rank = environment;
    add_rank(of_rank, rank, *options_.ranks, *port);
    const Result<int> out = output_.add(rank, STDOUT_FILENO);
    if (!out.ok()) return fail(out.error());
    const Result<int> error = output_.add(rank, STDERR_FILENO);
    if (!error.ok()) {
      close(*out);
      return fail(error.error());
    }
    const Result<pid_t> child = spawn(of_rank, rank, *out, *error);
    close(*out);
    close(*error);
    if (!child.ok()) {
      forward(SIGKILL);
      return fail(child.error());
    }
    running_[*child] = rank;
  }
  return output_.start();
}

Result<pid_t> Launcher::spawn(const Environment& environment, int rank, int out_fd, int error_fd) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  sigaddset(&usual, SIGPIPE);
  sigaddset(&usual, SIGXFSZ);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (out_fd >= 0) posix_spawn_file_actions_adddup2(&files, out_fd, STDOUT_FILENO);
  if (error_fd >= 0) posix_spawn_file_actions_adddup2(&files, error_fd, STDERR_FILENO);
  if (rank > 0) {  // typed input goes to rank 0
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  std::vector<std::string> entries = environment.entries();
  const std::vector<char*> arguments = pointers(options_.command);
  const std::vector<char*> variables = pointers(entries);
  pid_t pid = 0;
  const int error = [&] {
    const FirstFileLimit of_the_command;
    return posix_spawnp(&pid, arguments[0], &files, &attributes, arguments.data(),
                        variables.data());
  }();
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error == 0) return pid;
  return fail(error == ENOENT ? Code::kNotFound : Code::kUnsupported,
              fmt::format("cannot start {}: {}", options_.command[0], std::strerror(error)),
              "is the command right, and in PATH? it follows `--`");
}

void Launcher::reap() {
  int status = 0;
  for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) on_exit(pid, {status});
}

void Launcher::on_exit(pid_t pid, ExitStatus status) {
  if (output_.is_carrier(pid) && status.code() != 0) {
    output_.revive();
    ++revivals_;
    return;
  }
  ended_[pid] = status;
  const auto found = running_.find(pid);
  const bool ours = found != running_.end();
  if (ours) {
    rank_ends_.push_back({found->second, pid, status, Clock::now()});
    running_.erase(found);
  }
  if (!ours || status.code() == 0 || ending_) return;
  exit_code_ = status.code();
  if (running_.empty()) return;
  ending_ = true;
  forward(SIGTERM);
  kill_at_ = Clock::now() + options_.grace;
}

void Launcher::enforce(Clock::time_point now) {
  if (!kill_at_ || now < *kill_at_) return;
  forward(SIGKILL);
  kill_at_.reset();
}

void Launcher::forward(int signal) const {
  for (const auto& [pid, rank] : running_) kill(pid, signal);
}

std::vector<pid_t> Launcher::pids() const {
  std::vector<pid_t> all;
  for (const auto& [pid, rank] : running_) all.push_back(pid);
  return all;
}

std::optional<ExitStatus> Launcher::status(pid_t pid) const {
  const auto found = ended_.find(pid);
  return found == ended_.end() ? std::nullopt : std::optional(found->second);
}

Result<int> free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  const bool bound = fd >= 0 &&
                     bind(fd, reinterpret_cast<const sockaddr*>(&address), length) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  if (bound) return ntohs(address.sin_port);
  return fail(Code::kIo, fmt::format("no free port on 127.0.0.1: {}", std::strerror(error)),
              "is the loopback interface up?");
}

}  // namespace dprof::recorder
