// SPDX-License-Identifier: Apache-2.0
#include <linux/close_range.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>

#include "trainer_harness/faults/lasting_fault.h"

namespace dprof::trainer_harness {
namespace {

std::vector<pid_t> own_threads() {
  std::vector<pid_t> threads;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", error)) {
    threads.push_back(std::stoi(entry.path().filename().string()));
  }
  return threads;
}

// The run-queue delay of this process's threads, as far as the kernel counts it.
int64_t runnable_wait_ns() {
  int64_t sum = 0;
  for (const pid_t thread : own_threads()) {
    int64_t ran = 0;
    int64_t waited = 0;
    std::ifstream in("/proc/self/task/" + std::to_string(thread) + "/schedstat");
    if (in >> ran >> waited) sum += waited;
  }
  return sum;
}

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno) +
                           "\nhint: the fault cannot be done on this machine");
}

// Binds all threads of this process to one core, and restores their cores.
class Binding {
 public:
  void bind(int core) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    before_.clear();
    for (const pid_t thread : own_threads()) {
      cpu_set_t mask;
      if (sched_getaffinity(thread, sizeof(mask), &mask) != 0) continue;  // it has just ended
      if (sched_setaffinity(thread, sizeof(one), &one) == 0) {
        before_[thread] = mask;
      } else if (errno != ESRCH) {
        fail("cannot bind a thread to core " + std::to_string(core));
      }
    }
  }

  // Threads started since bind() get the cores of the oldest one.
  void release() {
    if (before_.empty()) return;
    const cpu_set_t common = before_.begin()->second;
    for (const pid_t thread : own_threads()) {
      const auto known = before_.find(thread);
      const cpu_set_t& mask = known == before_.end() ? common : known->second;
      sched_setaffinity(thread, sizeof(mask), &mask);
    }
    before_.clear();
  }

  [[nodiscard]] int64_t threads() const { return static_cast<int64_t>(before_.size()); }

 private:
  std::map<pid_t, cpu_set_t> before_;
};

class PinnedCore : public LastingFault {
 public:
  explicit PinnedCore(bool shared) : shared_(shared) {}
  ~PinnedCore() override { binding_.release(); }

  void begin() override {
    core_ = shared_ ? first_core() : sched_getcpu();
    binding_.bind(core_);
    threads_ = binding_.threads();
    waited_before_ns_ = runnable_wait_ns();
  }

  void end() override {
    waited_ns_ += runnable_wait_ns() - waited_before_ns_;
    binding_.release();
  }

  [[nodiscard]] std::vector<Deed> deeds(size_t fault) const override {
    return {{fault, "core", int64_t{core_}},
            {fault, "threads", threads_},
            {fault, "runnable_wait_ns", waited_ns_}};
  }

 private:
  static int first_core() {
    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof(mask), &mask) != 0) fail("cannot read the cores of the rank");
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &mask)) return core;
    }
    return 0;
  }

  bool shared_;
  Binding binding_;
  int core_ = 0;
  int64_t threads_ = 0;
  int64_t waited_before_ns_ = 0;
  int64_t waited_ns_ = 0;
};

// The competing process. A fork of a process with many threads must not call anything that locks:
// no fork() handlers, no allocation, only system calls.
[[noreturn]] void compete(pid_t parent, int core) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);  // the parent died before prctl()
  prctl(PR_SET_NAME, "dprof-rival");
  syscall(SYS_close_range, 0U, ~0U, 0U);  // sockets and pipes must close with their owner
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  sched_setaffinity(0, sizeof(one), &one);
  for (volatile uint64_t turns = 0;;) turns = turns + 1;
}

class CpuContention : public LastingFault {
 public:
  ~CpuContention() override {
    if (rival_ > 0) dismiss();
    binding_.release();
  }

  void begin() override {
    if (rival_ < 0) {
      core_ = sched_getcpu();
      start_rival();
    } else {
      kill(rival_, SIGCONT);
    }
    binding_.bind(core_);
    waited_before_ns_ = runnable_wait_ns();
  }

  void end() override {
    waited_ns_ += runnable_wait_ns() - waited_before_ns_;
    kill(rival_, SIGSTOP);
    binding_.release();
  }

  [[nodiscard]] std::vector<Deed> deeds(size_t fault) const override {
    return {{fault, "pid", int64_t{rival_}},
            {fault, "core", int64_t{core_}},
            {fault, "rival_cpu_ns", rival_cpu_ns()},
            {fault, "runnable_wait_ns", waited_ns_}};
  }

 private:
  void start_rival() {
    const pid_t parent = getpid();
    const pid_t child = _Fork();  // not fork(): that runs the handlers of every library
    if (child < 0) fail("cannot start the competing process");
    if (child == 0) compete(parent, core_);
    rival_ = child;
  }

  void dismiss() const {
    kill(rival_, SIGKILL);
    while (waitpid(rival_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  [[nodiscard]] int64_t rival_cpu_ns() const {
    clockid_t clock{};
    timespec used{};
    if (clock_getcpuclockid(rival_, &clock) != 0 || clock_gettime(clock, &used) != 0) return 0;
    return int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
  }

  Binding binding_;
  pid_t rival_ = -1;
  int core_ = 0;
  int64_t waited_before_ns_ = 0;
  int64_t waited_ns_ = 0;
};

}  // namespace

std::unique_ptr<LastingFault> make_cpu_contention() { return std::make_unique<CpuContention>(); }

std::unique_ptr<LastingFault> make_pinned_core(bool shared) {
  return std::make_unique<PinnedCore>(shared);
}

}  // namespace dprof::trainer_harness
