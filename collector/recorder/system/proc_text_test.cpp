// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/system/proc_text.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <fstream>
#include <iterator>

namespace dprof::recorder {
namespace {

std::string stat_of(const std::string& name) {
  return "4711 (" + name +
         ") S 4242 4711 1 34816 4711 4194560 1041 2931 17 6 3 1 4 2 25 5 12 0 987654321 8601600 1031 18446744073709551615\n";
}

class StatNameTest : public ::testing::TestWithParam<const char*> {};

// Any name: a process chooses it by prctl.
TEST_P(StatNameTest, IsNeverTakenForFields) {
  const std::optional<ProcessStat> stat = parse_process_stat(stat_of(GetParam()));
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->minor_faults, 1041);
  EXPECT_EQ(stat->major_faults, 17);
  EXPECT_EQ(stat->kernel_ticks, 1);
  EXPECT_EQ(stat->threads, 12);
}

INSTANTIATE_TEST_SUITE_P(Names, StatNameTest,
                         ::testing::Values("python3", "a) R 1 1 1 (b", "))) S 1", "two words", "",
                                           "line\nbreak) X 9 9", "\xff\xfe\t"));

TEST(ProcTextTest, ACutStatIsNone) {
  const std::string whole = stat_of("x) R 1 (y");
  const size_t end = whole.find(" 12 0 987654321") + 3;  // of the last field that is read
  for (size_t length = 0; length <= end; ++length) {
    EXPECT_FALSE(parse_process_stat(std::string_view(whole).substr(0, length))) << length;
  }
  EXPECT_TRUE(parse_process_stat(std::string_view(whole).substr(0, end + 1)));
}

TEST(ProcTextTest, SchedstatHasTwoWholeNumbers) {
  EXPECT_EQ(parse_schedstat("58265829 156173059 151\n"), (ThreadTimes{58265829, 156173059}));
  for (const char* bad :
       {"", "5", "5 ", "5 6", "x 6 1", "5 6x 1", "-", "99999999999999999999 1 1"}) {
    EXPECT_FALSE(parse_schedstat(bad)) << bad;
  }
}

using schema::ThreadWait;

// Names of kernels 5.10 to 6.18.
TEST(ProcTextTest, WaitChannels) {
  for (const char* name : {"hrtimer_nanosleep", "do_nanosleep", "common_nsleep"}) {
    EXPECT_EQ(parse_wait_channel(name), ThreadWait::kSleep) << name;
  }
  for (const char* name : {"futex_wait_queue_me", "futex_wait_queue", "futex_do_wait",
                           "__futex_wait", "do_futex", "futex_wait_multiple"}) {
    EXPECT_EQ(parse_wait_channel(name), ThreadWait::kLock) << name;
  }
  for (const char* name :
       {"ep_poll", "do_epoll_wait", "poll_schedule_timeout.constprop.0", "do_sys_poll", "do_select",
        "sk_wait_data", "wait_woken", "inet_csk_accept", "unix_stream_read_generic",
        "unix_stream_data_wait", "__skb_wait_for_more_packets", "pipe_read", "anon_pipe_read"}) {
    EXPECT_EQ(parse_wait_channel(name), ThreadWait::kPoll) << name;
  }
  for (const char* name : {"io_schedule", "folio_wait_bit_common", "wait_on_page_bit_common",
                           "jbd2_log_wait_commit", "ext4_fsync_journal", "rq_qos_wait"}) {
    EXPECT_EQ(parse_wait_channel(name), ThreadWait::kDisk) << name;
  }
  EXPECT_EQ(parse_wait_channel("do_wait\n"), ThreadWait::kOther);
  EXPECT_EQ(parse_wait_channel("0"), std::nullopt);
  EXPECT_EQ(parse_wait_channel("0\n"), std::nullopt);
  EXPECT_EQ(parse_wait_channel(""), std::nullopt);
}

TEST(ProcTextTest, SystemCalls) {
  const auto call = [](int64_t number) {
    return parse_system_call(std::to_string(number) + " 0x0 0x7f 0x1 0x0 0x0 0x0 0x7ffc 0x7f22\n");
  };
  EXPECT_EQ(call(SYS_clock_nanosleep), ThreadWait::kSleep);
  EXPECT_EQ(call(SYS_futex), ThreadWait::kLock);
  EXPECT_EQ(call(SYS_ppoll), ThreadWait::kPoll);
  EXPECT_EQ(call(SYS_recvmsg), ThreadWait::kPoll);
  EXPECT_EQ(call(SYS_fdatasync), ThreadWait::kDisk);
  EXPECT_EQ(call(SYS_read), ThreadWait::kOther) << "of a file, or of a socket";
  EXPECT_EQ(parse_system_call("-1 0x7ffc 0x7f22\n"), ThreadWait::kOther) << "a page that is away";
  EXPECT_EQ(parse_system_call("running\n"), ThreadWait::kRunning);
  EXPECT_EQ(parse_system_call(""), std::nullopt);
  EXPECT_EQ(parse_system_call("asleep\n"), std::nullopt);
}

TEST(ProcTextTest, ValuesAreFoundByTheirWholeKey) {
  const char* text = "Name:\tVmHWM: 7\nVmHWMore:\t5 kB\nVmHWM:\t  4124 kB\nnr_throttled 12\n";
  EXPECT_EQ(parse_value(text, "VmHWM"), 4124);
  EXPECT_EQ(parse_value(text, "nr_throttled"), 12);
  EXPECT_FALSE(parse_value(text, "VmH"));
  EXPECT_FALSE(parse_value(text, "VmRSS"));
  EXPECT_FALSE(parse_value("VmHWM:", "VmHWM"));
  EXPECT_FALSE(parse_value("VmHWM:\tmany kB\n", "VmHWM"));
}

TEST(ProcTextTest, OwnIdIsThatOfTheInnermostNamespace) {
  EXPECT_EQ(parse_own_id("Name:\tx\nNSpid:\t4711\t12\t3\nVmPeak:\t1 kB\n"), 3);
  EXPECT_EQ(parse_own_id("NSpid:\t4711\n"), 4711);
  EXPECT_FALSE(parse_own_id("NSpid:\n"));
  EXPECT_FALSE(parse_own_id("Name:\tx\n"));
}

TEST(ProcTextTest, HostTimesLoadAndPressure) {
  const auto times = parse_host_times("cpu  100 20 30 4000 50 6 7 8 0 0\ncpu0 1 1 1\n");
  ASSERT_TRUE(times);
  EXPECT_EQ(times->busy, 163);
  EXPECT_EQ(times->iowait, 50);
  EXPECT_EQ(times->steal, 8);
  EXPECT_FALSE(parse_host_times("cpu 1 2 3\n"));
  EXPECT_FALSE(parse_host_times("intr 1 2 3 4 5 6 7 8\n"));
  const auto load = parse_load("3.43 2.29 1.80 6/113 3724\n");
  ASSERT_TRUE(load);
  EXPECT_EQ(load->one_minute_milli, 3430);
  EXPECT_EQ(load->runnable, 6);
  EXPECT_FALSE(parse_load("3.43 2.29"));
  EXPECT_FALSE(parse_load("nan 1 1 1/2 3"));
  EXPECT_EQ(parse_pressure_us("some avg10=0.10 avg60=0.00 avg300=0.00 total=9443\nfull total=1\n"),
            9443);
  EXPECT_FALSE(parse_pressure_us("full avg10=0.10 total=9443\n"));
}

TEST(ProcTextTest, InterfacesOfNetDev) {
  std::string_view text =
      "Inter-|   Receive                            |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|bytes packets errs drop\n"
      "    lo: 100 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0\n"
      "broken: 1 2 3\n"
      "eth0.5:2000 9 1 2 0 0 0 0 3000 8 4 5 0 0 0 0\n";
  const auto lo = next_interface(text);
  ASSERT_TRUE(lo);
  EXPECT_EQ(lo->name, "lo");
  EXPECT_EQ(lo->tx_bytes, 100);
  const auto eth = next_interface(text);
  ASSERT_TRUE(eth);
  EXPECT_EQ(eth->name, "eth0.5");
  EXPECT_EQ(eth->rx_bytes, 2000);
  EXPECT_EQ(eth->tx_bytes, 3000);
  EXPECT_EQ(eth->errors, 5);
  EXPECT_EQ(eth->dropped, 7);
  EXPECT_FALSE(next_interface(text));
}

TEST(ProcTextTest, ProtocolCounters) {
  const char* text = "TcpExt: RetransSegs\nTcpExt: 9\nTcp: A RetransSegs B\nTcp: 1 77 3\nUdp: A\n";
  EXPECT_EQ(parse_protocol_counter(text, "Tcp", "RetransSegs"), 77);
  EXPECT_FALSE(parse_protocol_counter(text, "Tcp", "C"));
  EXPECT_FALSE(parse_protocol_counter(text, "Udp", "A"));
  EXPECT_FALSE(parse_protocol_counter("Tcp: A B\nTcp: 1", "Tcp", "B"));
}

TEST(ProcTextTest, CgroupPathsOfBothVersions) {
  const char* text = "12:cpu,cpuacct:/job/a:b\n3:memory:/mem\n1:name=systemd:/init\n0::/new\n";
  EXPECT_EQ(parse_cgroup_path(text, ""), "/new");
  EXPECT_EQ(parse_cgroup_path(text, "cpu"), "/job/a:b");
  EXPECT_EQ(parse_cgroup_path(text, "cpuacct"), "/job/a:b");
  EXPECT_EQ(parse_cgroup_path(text, "memory"), "/mem");
  EXPECT_FALSE(parse_cgroup_path(text, "pids"));
  EXPECT_FALSE(parse_cgroup_path("0::/../../etc\n", ""));  // outside of the visible tree
  EXPECT_FALSE(parse_cgroup_path("0:\n::\n", ""));
}

TEST(ProcTextTest, LimitsMayBeNone) {
  EXPECT_EQ(parse_memory_limit("1073741824\n"), 1073741824);
  EXPECT_FALSE(parse_memory_limit("max\n"));
  EXPECT_FALSE(parse_memory_limit("9223372036854771712\n"));
  EXPECT_FALSE(parse_memory_limit(""));
  EXPECT_EQ(parse_number("12\n"), 12);
  EXPECT_FALSE(parse_number("12 13"));
  EXPECT_FALSE(parse_number("12x"));
}

// The files of this machine's kernel, whatever it is.
TEST(ProcTextTest, ReadsThisProcess) {
  const auto text = [](const char* path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const auto stat = parse_process_stat(text("/proc/self/stat"));
  ASSERT_TRUE(stat);
  EXPECT_GE(stat->threads, 1);
  EXPECT_GT(parse_value(text("/proc/self/status"), "VmRSS").value_or(0), 0);
  EXPECT_GT(parse_value(text("/proc/meminfo"), "MemAvailable").value_or(0), 0);
  EXPECT_TRUE(parse_host_times(text("/proc/stat")));
  EXPECT_TRUE(parse_load(text("/proc/loadavg")));
}

}  // namespace
}  // namespace dprof::recorder
