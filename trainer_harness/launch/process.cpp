// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/launch/process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <stdexcept>

namespace dprof::trainer_harness {
namespace {

constexpr int kCannotStart = 127;  // a shell's exit code for this
constexpr std::chrono::seconds kGrace(5);

// In the child, before it does its own work.
void prepare(const Variables& more, const std::filesystem::path& output, pid_t parent,
             const sigset_t& signals) {
  if (!output.empty()) {
    const int file = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
  }
  for (const auto& [name, value] : more) setenv(name.c_str(), value.c_str(), 1);
  sigprocmask(SIG_SETMASK, &signals, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kCannotStart);  // the parent died before prctl()
}

// Returns only where that fails: the exit code.
int become(std::vector<char*>& arguments) {
  execvp(arguments[0], arguments.data());
  const std::string line = std::string("dprof-trainer: cannot start ") + arguments[0] + ": " +
                           std::strerror(errno) + "\n";
  (void)!write(STDERR_FILENO, line.data(), line.size());
  return kCannotStart;
}

// An exception ends the child here: further up is its parent's code.
int call(const std::function<int()>& program) noexcept { return program(); }

}  // namespace

std::string Ending::text() const {
  return signal == 0 ? "ended with exit code " + std::to_string(code)
                     : "was killed by signal " + std::to_string(signal);
}

ChildGroup::ChildGroup() {
  sigemptyset(&requests_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&requests_, signal);
  waited_ = requests_;
  sigaddset(&waited_, SIGCHLD);
  sigprocmask(SIG_BLOCK, &waited_, &before_);
}

ChildGroup::~ChildGroup() {
  for (const pid_t child : children_) {
    if (child == 0) continue;
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

void ChildGroup::fork_child(const std::function<int()>& program, const Variables& more,
                            const std::filesystem::path& output) {
  std::fflush(nullptr);  // or the child would write it as well
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    prepare(more, output, parent, before_);
    const int code = call(program);
    std::fflush(nullptr);
    _exit(code);  // LibTorch's static objects would be copied to be destroyed: a sixth of a second
  }
  if (child < 0) {
    throw std::runtime_error(std::string("cannot fork: ") + std::strerror(errno) +
                             "\nhint: the number of processes may be limited: ulimit -u");
  }
  children_.push_back(child);
}

void ChildGroup::start(const std::vector<std::string>& arguments, const Variables& more,
                       const std::filesystem::path& output) {
  std::vector<std::string> texts = arguments;
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  fork_child([&] { return become(pointers); }, more, output);
}

void ChildGroup::start(const std::function<int()>& program, const Variables& more) {
  fork_child(program, more, {});
}

size_t ChildGroup::children_left() const {
  return static_cast<size_t>(
      std::ranges::count_if(children_, [](pid_t child) { return child != 0; }));
}

std::optional<ChildGroup::Event> ChildGroup::reap() {
  for (size_t i = 0; i < children_.size(); ++i) {
    int status = 0;
    if (children_[i] == 0 || waitpid(children_[i], &status, WNOHANG) != children_[i]) continue;
    children_[i] = 0;
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return Event{i, {signal == 0 ? WEXITSTATUS(status) : 128 + signal, signal}, 0};
  }
  return std::nullopt;
}

std::optional<ChildGroup::Event> ChildGroup::request() {
  constexpr timespec kNoWait = {};
  siginfo_t info;
  const int signal = sigtimedwait(&requests_, &info, &kNoWait);
  if (signal <= 0) return std::nullopt;
  return Event{std::nullopt, {}, signal};
}

ChildGroup::Event ChildGroup::wait_event() {
  for (;;) {
    // Checked first, because Ctrl-C also ends the children.
    if (const std::optional<Event> asked = request()) return *asked;
    if (const std::optional<Event> ended = reap()) return *ended;
    siginfo_t info;
    const int signal = sigwaitinfo(&waited_, &info);
    if (signal > 0 && signal != SIGCHLD) return {std::nullopt, {}, signal};
  }
}

void ChildGroup::end_all() {
  for (const pid_t child : children_) {
    if (child != 0) kill(child, SIGTERM);
  }
  const auto end = std::chrono::steady_clock::now() + kGrace;
  while (children_left() > 0) {
    if (reap()) continue;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0) break;
    const timespec wait = {left.count() / 1000, left.count() % 1000 * 1'000'000};
    siginfo_t info;
    (void)sigtimedwait(&waited_, &info, &wait);
  }
  for (pid_t& child : children_) {
    if (child == 0) continue;
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    child = 0;
  }
}

bool can_fork() {
  for (const char* name : {"LD_PRELOAD", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"}) {
    if (std::getenv(name) != nullptr) return false;
  }
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::directory_iterator tasks("/proc/self/task", ignored);
  return std::getenv("OMP_NUM_THREADS") != nullptr &&
         std::distance(begin(tasks), end(tasks)) == 1 && !fs::exists("/dev/nvidiactl", ignored) &&
         !fs::exists("/dev/kfd", ignored);
}

std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

int free_port() {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  const bool bound = listener >= 0 && bind(listener, generic, size) == 0 &&
                     getsockname(listener, generic, &size) == 0;
  if (listener >= 0) close(listener);
  if (bound) return ntohs(address.sin_port);
  throw std::runtime_error(std::string("no free port: ") + std::strerror(errno) +
                           "\nhint: set MASTER_PORT");
}

}  // namespace dprof::trainer_harness
