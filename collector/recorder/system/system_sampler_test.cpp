// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/system/system_sampler.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <set>
#include <thread>

#include "tests/support/temporary_folder.h"

namespace dprof::recorder {
namespace {

using schema::ThreadWait;
using test_support::TemporaryFolder;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

const wire::TickScale kSamplerScale{.tick0 = 0,
                                    .multiplier = uint64_t{1} << 32,
                                    .shift = 32,
                                    .source = wire::ClockSource::kMonotonic};

// A /proc and a /sys of files.
class FakeSystem {
 public:
  SystemRoots roots() const { return {folder_.path() / "proc", folder_.path() / "sys"}; }
  void write(const std::string& path, const std::string& text) const {
    const fs::path file = folder_.path() / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  void remove(const std::string& path) const { fs::remove_all(folder_.path() / path); }
  void process(int pid, const std::string& name = "python3", char state = 'R',
               int threads = 3) const {
    write(fmt::format("proc/{}/stat", pid),
          fmt::format("{} ({}) {} 1 1 1 0 -1 0 10 0 7 0 1 2 0 0 20 0 {} 0 55 1 1\n", pid, name,
                      state, threads));
    write(fmt::format("proc/{}/status", pid),
          fmt::format("Name:\t{}\nNSpid:\t{}\nVmHWM:\t 3000 kB\nVmRSS:\t 2000 kB\n"
                      "voluntary_ctxt_switches:\t11\nnonvoluntary_ctxt_switches:\t5\n",
                      name, pid));
  }
  void waits(int pid, const std::string& channel, const std::string& call) const {
    write(fmt::format("proc/{}/task/{}/wchan", pid, pid), channel);
    write(fmt::format("proc/{}/task/{}/syscall", pid, pid), call);
  }
  void thread(int pid, int tid, int64_t cpu_ns, int64_t wait_ns) const {
    write(fmt::format("proc/{}/task/{}/schedstat", pid, tid),
          fmt::format("{} {} 9\n", cpu_ns, wait_ns));
  }

 private:
  TemporaryFolder folder_;
};

// The samples delivered to one trace.
struct Trace {
  std::vector<SystemSample> samples;
  std::vector<schema::MemorySampleRow> memory;
  std::vector<std::string> said;

  Deliver deliver() {
    return [this](Measured measured) {
      if (const auto* sample = std::get_if<SystemSample>(&measured)) samples.push_back(*sample);
      if (const auto* row = std::get_if<schema::MemorySampleRow>(&measured)) {
        memory.push_back(*row);
      }
      if (const auto* d = std::get_if<RecorderDiagnostic>(&measured)) said.push_back(d->text);
    };
  }
  // The last value of a kind; empty if there was none.
  std::optional<int64_t> last(std::string_view kind,
                              std::optional<int64_t> subject = std::nullopt) const {
    std::optional<int64_t> found;
    for (const SystemSample& sample : samples) {
      if (sample.kind == kind && (!subject || sample.subject == subject)) found = sample.value;
    }
    return found;
  }
  int64_t count(std::string_view kind) const {
    return std::ranges::count(samples, kind, &SystemSample::kind);
  }
};

Sampled sampled(int pid, Trace& trace, std::optional<int> rank = 0) {
  return {pid, -1, 1, rank, true, trace.deliver()};
}

class SystemSamplerTest : public ::testing::Test {
 protected:
  const RunClock clock_{kSamplerScale};
  FakeSystem system_;
  Trace trace_;
};

TEST_F(SystemSamplerTest, ThreadsMemoryAndFaults) {
  system_.process(40, "evil) Z 1 (name\n");
  system_.thread(40, 40, 1000, 20);
  system_.thread(40, 41, 500, 0);
  SystemSampler sampler(clock_, system_.roots());
  sampler.sample({sampled(40, trace_)});
  EXPECT_EQ(trace_.last("thread.cpu_ns", 40), 1000);
  EXPECT_EQ(trace_.last("thread.run_queue_ns", 40), 20);
  EXPECT_EQ(trace_.last("thread.cpu_ns", 41), 500);
  EXPECT_EQ(trace_.last("process.minor_faults"), 10);
  EXPECT_EQ(trace_.last("process.major_faults"), 7);
  EXPECT_EQ(trace_.last("process.kernel_cpu_ns"), 2'000'000'000 / sysconf(_SC_CLK_TCK));
  EXPECT_EQ(trace_.last("process.threads"), 3);
  EXPECT_EQ(trace_.last("thread.voluntary_switches", 40), 11);
  EXPECT_EQ(trace_.last("thread.involuntary_switches", 40), 5);
  ASSERT_EQ(trace_.memory.size(), 1u);
  EXPECT_EQ(trace_.memory[0].device_id, -1);
  EXPECT_EQ(trace_.memory[0].allocated_bytes, 2000 * 1024);
  EXPECT_EQ(trace_.memory[0].peak_allocated_bytes, 3000 * 1024);

  // Only changed values come again; memory in every round, its peak if it rose.
  trace_ = {};
  system_.thread(40, 40, 3000, 25);
  sampler.sample({sampled(40, trace_)});
  EXPECT_EQ(trace_.last("thread.cpu_ns", 40), 3000);
  EXPECT_EQ(trace_.count("thread.cpu_ns"), 1);
  EXPECT_EQ(trace_.count("process.threads"), 0);
  ASSERT_EQ(trace_.memory.size(), 1u);
  EXPECT_FALSE(trace_.memory[0].peak_allocated_bytes);
}

TEST_F(SystemSamplerTest, ZombiesAndWhatIsGoneAreSilent) {
  system_.process(40, "x", 'Z');
  system_.thread(40, 40, 1, 1);
  SystemSampler sampler(clock_, system_.roots());
  sampler.sample({sampled(40, trace_), sampled(41, trace_), sampled(0, trace_)});
  EXPECT_EQ(trace_.count("thread.cpu_ns"), 0);
  EXPECT_THAT(trace_.memory, IsEmpty());
}

TEST_F(SystemSamplerTest, GarbageIsSkipped) {
  system_.process(40);
  system_.write("proc/40/stat", std::string(20'000, '('));
  SystemSampler sampler(clock_, system_.roots());
  sampler.sample({sampled(40, trace_)});
  EXPECT_THAT(trace_.memory, IsEmpty());

  system_.process(42);
  system_.write("proc/42/task/42/schedstat", "12");
  system_.write("proc/42/task/notes/schedstat", "1 2 3\n");
  system_.write("proc/42/task/-3/schedstat", "1 2 3\n");
  system_.write("proc/42/status", "VmRSS:\tmuch kB\n");
  system_.write("proc/net/dev", std::string(40'000, 'x'));
  system_.write("proc/loadavg", "\xff\n");
  sampler.sample({sampled(42, trace_)});
  EXPECT_EQ(trace_.count("thread.cpu_ns"), 0);
  EXPECT_EQ(trace_.count("host.load_1min_milli"), 0);
  EXPECT_THAT(trace_.memory, IsEmpty());
}

// A process in a pid namespace of its own records its threads by its own numbers.
TEST_F(SystemSamplerTest, ThreadsOfANestedNamespaceKeepTheirNumbers) {
  system_.process(40);
  system_.write("proc/40/status", "NSpid:\t40\t7\nVmRSS:\t 8 kB\nvoluntary_ctxt_switches:\t1\n");
  system_.thread(40, 40, 10, 0);
  system_.thread(40, 43, 20, 0);
  system_.write("proc/40/task/40/status", "NSpid:\t40\t7\n");
  system_.write("proc/40/task/43/status", "NSpid:\t43\t9\n");
  SystemSampler sampler(clock_, system_.roots());
  sampler.sample({sampled(40, trace_)});
  EXPECT_EQ(trace_.last("thread.cpu_ns", 7), 10);
  EXPECT_EQ(trace_.last("thread.cpu_ns", 9), 20);
  EXPECT_EQ(trace_.last("thread.voluntary_switches", 7), 1);
}

// The cost is bounded, and every process gets its turn.
TEST_F(SystemSamplerTest, ManyThreadsTakeTurns) {
  constexpr int kThreads = 2500;
  system_.process(40, "python3", 'R', kThreads);
  for (int i = 0; i < kThreads; ++i) system_.thread(40, 40 + i, 100 + i, 0);
  SystemSampler sampler(clock_, system_.roots());
  sampler.sample({sampled(40, trace_)});
  EXPECT_EQ(trace_.count("thread.cpu_ns"), 1024);
  ASSERT_EQ(trace_.said.size(), 1u);
  EXPECT_THAT(trace_.said[0], HasSubstr("in turns"));
  for (int round = 1; round < 3; ++round) sampler.sample({sampled(40, trace_)});
  std::set<int64_t> seen;
  for (const SystemSample& sample : trace_.samples) {
    if (sample.kind == "thread.cpu_ns") seen.insert(*sample.subject);
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(kThreads));
  EXPECT_EQ(trace_.said.size(), 1u);

  // All but one are idle now: that one is in every round.
  for (int round = 0; round < 15; ++round) sampler.sample({sampled(40, trace_)});
  for (int round = 0; round < 5; ++round) {
    system_.thread(40, 2000, 10'000 + round, 0);
    sampler.sample({sampled(40, trace_)});
    if (round > 1) {
      EXPECT_EQ(trace_.last("thread.cpu_ns", 2000), 10'000 + round);
    }
  }
}

// Threads are not listed in every round: a new one in the place of another is still found.
TEST_F(SystemSamplerTest, AThreadThatReplacesAnotherIsFound) {
  system_.process(40, "python3", 'R', 2);
  system_.thread(40, 40, 10, 0);
  system_.thread(40, 41, 20, 0);
  SystemSampler sampler(clock_, system_.roots());
  sampler.sample({sampled(40, trace_)});
  system_.remove("proc/40/task/41");
  system_.thread(40, 42, 30, 0);
  for (int round = 0; round < 2; ++round) sampler.sample({sampled(40, trace_)});
  EXPECT_EQ(trace_.last("thread.cpu_ns", 42), 30);
}

TEST_F(SystemSamplerTest, HostGoesToTheLowestRankOnly) {
  for (const int pid : {40, 41}) system_.process(pid);
  system_.write("proc/stat", "cpu  100 20 30 4000 50 6 7 8 0 0\n");
  system_.write("proc/loadavg", "3.43 2.29 1.80 6/113 3724\n");
  system_.write("proc/meminfo", "MemTotal: 100 kB\nMemAvailable:  64 kB\n");
  system_.write("proc/pressure/cpu", "some avg10=1 avg60=1 avg300=1 total=12\n");
  system_.write("proc/net/snmp", "Tcp: RetransSegs\nTcp: 5\n");
  system_.write("proc/net/dev", "eth0: 2000 9 0 0 0 0 0 0 3000 8 0 0 0 0 0 0\n");
  system_.write("sys/class/net/eth0/ifindex", "4\n");
  Trace other;
  SystemSampler sampler(clock_, system_.roots());
  Sampled helper = sampled(40, other, 0);
  helper.leads = false;
  sampler.sample({helper, sampled(41, trace_, 1)});
  const int64_t ns_per_tick = kNsPerSecond / sysconf(_SC_CLK_TCK);
  EXPECT_EQ(trace_.last("host.cpu_busy_ns"), 163 * ns_per_tick);
  EXPECT_EQ(trace_.last("host.cpu_steal_ns"), 8 * ns_per_tick);
  EXPECT_EQ(trace_.last("host.load_1min_milli"), 3430);
  EXPECT_EQ(trace_.last("host.memory_available_bytes"), 64 * 1024);
  EXPECT_EQ(trace_.last("host.cpu_pressure_ns"), 12'000);
  EXPECT_EQ(trace_.last("host.tcp_retransmits"), 5);
  EXPECT_EQ(trace_.last("nic.eth0.rx_bytes", 4), 2000);
  EXPECT_EQ(trace_.last("nic.eth0.tx_bytes", 4), 3000);
  EXPECT_EQ(other.count("host.load_1min_milli"), 0);

  // Rank 0 records something now: it gets all host samples.
  helper.leads = true;
  trace_ = {};
  sampler.sample({helper, sampled(41, trace_, 1)});
  EXPECT_EQ(other.last("nic.eth0.rx_bytes", 4), 2000);
  EXPECT_EQ(trace_.count("host.load_1min_milli"), 0);
  // Unchanged counters do not come again.
  sampler.sample({helper, sampled(41, trace_, 1)});
  EXPECT_EQ(other.count("nic.eth0.rx_bytes"), 1);
  EXPECT_EQ(other.count("host.load_1min_milli"), 2);
}

TEST_F(SystemSamplerTest, WhatTheMainThreadWaitsFor) {
  system_.process(40);
  system_.thread(40, 40, 1000, 20);
  system_.waits(40, "futex_do_wait", "");
  SystemSampler sampler(clock_, system_.roots());
  const std::vector<Sampled> processes = {sampled(40, trace_)};
  sampler.look(processes);
  EXPECT_EQ(trace_.count("thread.wait"), 0) << "its own number is not known yet";
  sampler.sample(processes);
  // A thread that has not run since is still looked at.
  for (int look = 0; look < 3; ++look) sampler.look(processes);
  EXPECT_EQ(trace_.count("thread.wait"), 3);
  EXPECT_EQ(trace_.last("thread.wait", 40), static_cast<int64_t>(ThreadWait::kLock));
  system_.waits(40, "0", "running\n");
  sampler.look(processes);
  EXPECT_EQ(trace_.last("thread.wait", 40), static_cast<int64_t>(ThreadWait::kRunning));
  // A kernel that hides its functions.
  system_.waits(40, "0", fmt::format("{} 0x0 0x0\n", SYS_clock_nanosleep));
  sampler.look(processes);
  EXPECT_EQ(trace_.last("thread.wait", 40), static_cast<int64_t>(ThreadWait::kSleep));
  EXPECT_EQ(trace_.count("thread.wait"), 5);
  // "0" alone can mean either: no guess is made.
  system_.waits(40, "0", "");
  sampler.look(processes);
  system_.remove("proc/40/task/40/wchan");
  sampler.look(processes);
  EXPECT_EQ(trace_.count("thread.wait"), 5);
}

TEST_F(SystemSamplerTest, LooksComeAtRandom) {
  SystemSampler sampler(clock_, system_.roots());
  std::set<int64_t> intervals;
  for (int look = 0; look < 100; ++look) intervals.insert(sampler.look_interval().count());
  EXPECT_GT(intervals.size(), 90u);
  EXPECT_GE(*intervals.begin(), 25'000);
  EXPECT_LE(*intervals.rbegin(), 75'000);
  EXPECT_GT(*intervals.rbegin() - *intervals.begin(), 40'000);
}

// Children of this process, in the real /proc: one asleep, one in a futex, one running.
TEST_F(SystemSamplerTest, RealThreadsThatWait) {
  const auto child_that = [](auto&& does) {
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      while (true) does();
    }
    return child;
  };
  const auto seen = [this](pid_t child, ThreadWait want) {
    SystemSampler sampler(clock_);
    trace_ = {};
    sampler.sample({sampled(child, trace_)});
    for (int i = 0; i < 500 && trace_.last("thread.wait") != static_cast<int64_t>(want); ++i) {
      sampler.look({sampled(child, trace_)});
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    return trace_.last("thread.wait");
  };
  FileText file;
  if (file.read("/proc/thread-self/syscall").empty())
    GTEST_SKIP() << "this kernel does not show it";
  EXPECT_EQ(seen(child_that([] { sleep(100); }), ThreadWait::kSleep),
            static_cast<int64_t>(ThreadWait::kSleep));
  static const int kWord = 0;
  EXPECT_EQ(seen(child_that([] { syscall(SYS_futex, &kWord, 0 /*FUTEX_WAIT*/, 0, nullptr); }),
                 ThreadWait::kLock),
            static_cast<int64_t>(ThreadWait::kLock));
  EXPECT_EQ(seen(child_that([] {}), ThreadWait::kRunning),
            static_cast<int64_t>(ThreadWait::kRunning));
}

TEST_F(SystemSamplerTest, CgroupsOfVersionTwo) {
  system_.process(40);
  system_.write("proc/40/cgroup", "0::/job/step\n");
  system_.write("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
  system_.write("sys/fs/cgroup/memory.max", "max\n");
  system_.write("sys/fs/cgroup/job/memory.max", "1000000\n");
  system_.write("sys/fs/cgroup/job/cpu.stat", "usage_usec 9\nnr_throttled 3\nthrottled_usec 40\n");
  system_.write("sys/fs/cgroup/job/step/memory.max", "max\n");
  system_.write("sys/fs/cgroup/job/step/memory.current", "777\n");
  system_.write("sys/fs/cgroup/job/step/memory.events", "oom 2\noom_kill 1\n");
  system_.write("sys/fs/cgroup/job/step/cpu.stat", "nr_throttled 2\nthrottled_usec 5\n");
  SystemSampler sampler(clock_, system_.roots());
  sampler.sample({sampled(40, trace_)});
  EXPECT_EQ(trace_.last("cgroup.cpu_throttled_ns"), 45'000);
  EXPECT_EQ(trace_.last("cgroup.cpu_throttled_periods"), 5);
  EXPECT_EQ(trace_.last("cgroup.memory_limit_bytes"), 1'000'000);
  EXPECT_EQ(trace_.last("cgroup.memory_bytes"), 777);
  EXPECT_EQ(trace_.last("cgroup.oom_kills"), 1);
}

TEST_F(SystemSamplerTest, CgroupsOfVersionOneInAContainer) {
  system_.process(40);
  // The path is the host's; only the container's own part is mounted.
  system_.write("proc/40/cgroup", "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n0::/\n");
  system_.write("sys/fs/cgroup/cpu/cpu.stat", "nr_throttled 7\nthrottled_time 8000\n");
  system_.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "4096\n");
  system_.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "1024\n");
  SystemSampler sampler(clock_, system_.roots());
  sampler.sample({sampled(40, trace_)});
  EXPECT_EQ(trace_.last("cgroup.cpu_throttled_ns"), 8000);
  EXPECT_EQ(trace_.last("cgroup.memory_limit_bytes"), 4096);
  EXPECT_EQ(trace_.last("cgroup.memory_bytes"), 1024);
}

TEST_F(SystemSamplerTest, InfinibandPorts) {
  system_.process(40);
  const std::string port = "sys/class/infiniband/mlx5_0/ports/1/counters/";
  system_.write(port + "port_rcv_data", "1000\n");
  system_.write(port + "port_xmit_data", "2000\n");
  system_.write(port + "link_downed", "1\n");
  system_.write("sys/class/infiniband/mlx5_0/ports/x/counters/port_rcv_data", "5\n");
  SystemSampler sampler(clock_, system_.roots());
  sampler.sample({sampled(40, trace_)});
  EXPECT_EQ(trace_.last("nic.mlx5_0.rx_bytes", 1), 4000);
  EXPECT_EQ(trace_.last("nic.mlx5_0.tx_bytes", 1), 8000);
  EXPECT_EQ(trace_.last("nic.mlx5_0.link_downed", 1), 1);
}

TEST_F(SystemSamplerTest, EnergyOfProcessorsAndMemory) {
  system_.process(40);
  const auto zone = [&](const std::string& folder, const std::string& name, int64_t uj) {
    const std::string path = "sys/class/powercap/" + folder + "/";
    system_.write(path + "name", name + "\n");
    system_.write(path + "max_energy_range_uj", "1000000\n");
    system_.write(path + "energy_uj", std::to_string(uj) + "\n");
  };
  zone("intel-rapl:0", "package-0", 999'000);
  zone("intel-rapl:0:1", "dram", 5'000);
  zone("intel-rapl:1", "psys", 7'000);
  system_.write("sys/class/powercap/intel-rapl:2/name", "package-1\n");  // readable by root only
  SystemSampler sampler(clock_, system_.roots());
  sampler.sample({sampled(40, trace_)});
  EXPECT_EQ(trace_.last("host.package_energy_uj", 0), 0) << "counted from the first sample on";
  zone("intel-rapl:0", "package-0", 1'500);
  zone("intel-rapl:0:1", "dram", 5'300);
  sampler.sample({sampled(40, trace_)});
  EXPECT_EQ(trace_.last("host.package_energy_uj", 0), 2'500) << "it began at 0 again";
  EXPECT_EQ(trace_.last("host.dram_energy_uj", 0), 300);
  EXPECT_EQ(trace_.last("host.package_energy_uj", 1), std::nullopt);
}

// This process, in the real /proc: a thread with an awkward name that burns CPU.
TEST_F(SystemSamplerTest, ARealThread) {
  std::atomic<bool> stop{false};
  std::atomic<int> tid{0};
  std::thread busy([&] {
    prctl(PR_SET_NAME, ") R 1 (\n");
    tid = gettid();
    while (!stop) {
    }
  });
  SystemSampler sampler(clock_);
  std::optional<int64_t> first;
  bool grew = false;
  for (int i = 0; i < 2000 && !grew; ++i) {
    sampler.sample({sampled(getpid(), trace_)});
    const std::optional<int64_t> cpu_ns = trace_.last("thread.cpu_ns", tid);
    if (!first) first = cpu_ns;
    grew = first && cpu_ns && *cpu_ns > *first;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  stop = true;
  busy.join();
  EXPECT_TRUE(grew);
  ASSERT_FALSE(trace_.memory.empty());
  EXPECT_GT(trace_.memory.back().allocated_bytes.value_or(0), 0);
}

// The number may belong to another process by now: a pidfd of an ended process stops the sampling.
TEST_F(SystemSamplerTest, AnEndedProcessIsNotTakenForAnother) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  waitpid(child, nullptr, 0);
  SystemSampler sampler(clock_);
  Sampled other = sampled(getpid(), trace_);  // the same number, but another process's
  other.pidfd = pidfd;
  sampler.sample({other});
  EXPECT_EQ(trace_.count("thread.cpu_ns"), 0);
  EXPECT_THAT(trace_.memory, IsEmpty());
  close(pidfd);
}

}  // namespace
}  // namespace dprof::recorder
