// SPDX-License-Identifier: Apache-2.0
// The cuda source in real child processes, on a FAKE CUPTI (test_support/fake_cupti.cpp) that
// follows the library's rules, not a GPU's behaviour. Each case runs with the collector linked into
// the child and, if built, preloaded as libdprof.so; with the fake of CUDA 13.0 (one client) and
// that of 13.3 (several). If the real library is found, its answer without a driver is tested, too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <thread>

#include "collector/inject/test_support/mini_recorder.h"
#include "collector/inject/test_support/soon.h"
#include "collector/wire/gpu_records.h"
#include "tests/support/paths.h"

namespace dprof::inject {
namespace {

using wire::CaptureState;
using wire::DetailLevel;
using wire::Kind;
using Environment = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kAllOn =
    "subscribed=1 kernel=1 graph=1 sync=1 launch=1 events=1; 0 switched off";
constexpr const char* kNoEvents =
    "subscribed=1 kernel=1 graph=1 sync=1 launch=1 events=0; 0 switched off";
constexpr const char* kAllOff =
    "subscribed=0 kernel=0 graph=0 sync=0 launch=0 events=0; 0 switched off";

enum class How { kLinked, kPreloaded };
enum class Fake { kV1, kV2 };

class CudaTest : public ::testing::TestWithParam<std::tuple<How, Fake>> {
 protected:
  void SetUp() override {
    if (how() == How::kPreloaded && !std::filesystem::exists(library())) {
      GTEST_SKIP() << "libdprof.so is not built with a sanitizer";
    }
  }
  static How how() { return std::get<0>(GetParam()); }
  static bool v2() { return std::get<1>(GetParam()) == Fake::kV2; }
  static std::string library() { return test_support::lib_dir() + "/libdprof.so"; }
  static std::string fake() {
    return test_support::test_bin_dir() + (v2() ? "/libfake_cupti_v2.so" : "/libfake_cupti.so");
  }

  std::unique_ptr<Child> start(const std::vector<std::string>& what, const Environment& more = {}) {
    Environment environment = {{"DPROF_SOCKET", recorder_.path()},
                               {"DPROF_DETAIL", "full"},
                               {"DPROF_CUPTI_LIBRARY", fake()}};
    for (const auto& entry : more) {
      std::erase_if(environment, [&](const auto& one) { return one.first == entry.first; });
      if (entry.second != "(unset)") environment.push_back(entry);
    }
    std::string probe = test_support::test_bin_dir() + "/cuda_probe";
    if (how() == How::kLinked) {
      probe += "_linked";
    } else {
      environment.emplace_back("LD_PRELOAD", library());
    }
    std::vector<std::string> command = {probe};
    command.insert(command.end(), what.begin(), what.end());
    return std::make_unique<Child>(command, environment);
  }

  // Drains until `enough` holds for the records seen so far.
  template <typename Enough>
  bool drain_until(SeenSession& session, Enough&& enough) {
    return soon([&] {
      for (SeenRecord& one : session.drain()) seen_.push_back(std::move(one));
      return enough();
    });
  }
  template <typename Body>
  std::vector<std::pair<std::string, Body>> of(Kind kind) const {
    std::vector<std::pair<std::string, Body>> found;
    for (const SeenRecord& one : seen_) {
      if (one.record.kind == kind) {
        found.emplace_back(one.text, wire::body_of<Body>(one.record));
      }
    }
    return found;
  }
  bool has(Kind kind) const {
    return std::any_of(seen_.begin(), seen_.end(),
                       [&](const SeenRecord& one) { return one.record.kind == kind; });
  }
  std::map<std::string, wire::GpuActivity> activities() const {
    std::map<std::string, wire::GpuActivity> found;
    for (auto& [name, body] : of<wire::GpuActivity>(Kind::kGpuActivity)) found[name] = body;
    return found;
  }

  MiniRecorder recorder_;
  std::vector<SeenRecord> seen_;
};

TEST_P(CudaTest, RecordsEveryKind) {
  const auto child = start({"everything"});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(child->hear(), "ready");
  EXPECT_EQ(session->fact(wire::Fact::kCuptiSource), "on");
  EXPECT_EQ(session->fact(wire::Fact::kCuptiVersion), v2() ? "API 130301, v2" : "API 130001, v1");
  ASSERT_TRUE(drain_until(*session, [&] { return has(Kind::kGpuFlush); }));
  const auto found = activities();

  ASSERT_TRUE(found.count("gemm"));
  const wire::GpuActivity gemm = found.at("gemm");
  EXPECT_EQ(gemm.kind, 0);
  EXPECT_EQ(gemm.correlation, 101u);
  EXPECT_EQ(gemm.device, 1u);
  EXPECT_EQ(gemm.stream, 7u);
  EXPECT_EQ(gemm.flags, 0);
  EXPECT_EQ(gemm.end_ns - gemm.start_ns, 1000);
  EXPECT_EQ(found.at("ncclDevKernel_AllReduce").correlation, 102u);
  EXPECT_EQ(found.at("no times").flags, wire::gpu_flag::kNoTimestamp);
  EXPECT_EQ(found.at("memcpy HtoD").kind, 1);
  EXPECT_EQ(found.at("memcpy HtoD").bytes, 4096u);
  EXPECT_EQ(found.at("memcpy DtoH").kind, 2);
  EXPECT_EQ(found.at("memcpy DtoD").kind, 3);
  EXPECT_EQ(found.at("memcpy PtoP").kind, 3);
  EXPECT_EQ(found.at("memcpy PtoP").correlation, 107u);
  EXPECT_EQ(found.at("memset").kind, 4);
  EXPECT_EQ(found.at("memset").bytes, 256u);
  EXPECT_EQ(found.at("stream synchronize").kind, 5);
  EXPECT_EQ(found.at("stream synchronize").device, 1u) << "through its context";
  EXPECT_EQ(found.at("CUDA graph").kind, 6);
  EXPECT_EQ(found.at("CUDA graph").graph, 33u);
  EXPECT_EQ(found.at("in a graph").flags, wire::gpu_flag::kInGraph);
  EXPECT_EQ(found.at("in a graph").graph_node, 44u);
  EXPECT_EQ(found.size(), 11u);

  child->say("go on");
  EXPECT_EQ(child->wait(), 0) << "calls that break CUPTI's rules";
  EXPECT_EQ(session->header().clean_end.load() & 0xff, wire::kCleanEnd);
  EXPECT_EQ(session->loss(wire::SharedLoss::kCuptiDropped), 17u);
  EXPECT_EQ(session->loss(wire::SharedLoss::kCuptiQueue), 0u);
  EXPECT_EQ(session->dropped(), 0u);
}

TEST_P(CudaTest, RecordsWhatSurroundsTheKernels) {
  const auto child = start({"everything"}, {{"FAKE_CUPTI_GROW", "40"}});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(child->hear(), "ready");
  child->say("go on");
  EXPECT_EQ(child->wait(), 0);
  ASSERT_TRUE(drain_until(*session, [&] { return has(Kind::kCuptiOverhead); }));

  const auto calls = of<wire::ApiCall>(Kind::kApiCall);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].first, "cuLaunchKernelEx");
  EXPECT_EQ(calls[0].second.runtime, 0);
  EXPECT_EQ(calls[0].second.correlation, 102u);
  EXPECT_EQ(calls[1].first, "cudaLaunchKernel");
  EXPECT_EQ(calls[1].second.runtime, 1);
  EXPECT_EQ(calls[1].second.os_tid, static_cast<uint32_t>(session->hello().pid));

  const auto external = of<wire::ExternalCorrelation>(Kind::kExternalCorrelation);
  ASSERT_EQ(external.size(), 1u) << "not those of other tools";
  EXPECT_EQ(external[0].second.external, 0xfeedu);
  EXPECT_EQ(external[0].second.correlation, 102u);

  const auto overhead = of<wire::CuptiOverhead>(Kind::kCuptiOverhead);
  ASSERT_EQ(overhead.size(), 1u);
  EXPECT_EQ(overhead[0].first, "lazy function loading");
  EXPECT_EQ(overhead[0].second.end_ns - overhead[0].second.start_ns, 11);

  const auto devices = of<wire::Device>(Kind::kDevice);
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].first, "Imaginary GPU");
  EXPECT_EQ(devices[0].second.compute_capability, 900u);
  EXPECT_EQ(devices[0].second.memory_bytes, uint64_t{80} << 30);
  EXPECT_EQ(devices[0].second.uuid[15], 0x5a);
  const auto streams = of<wire::StreamName>(Kind::kStreamName);
  ASSERT_EQ(streams.size(), 2u);
  EXPECT_EQ(streams[0].first, "default stream");
  EXPECT_EQ(streams[1].second.stream, 8u);
  EXPECT_EQ(streams[1].second.device, 1u);

  const auto events = of<wire::GpuEvent>(Kind::kGpuEvent);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].second.kind, wire::GpuEventKind::kRecord);
  EXPECT_EQ(events[0].second.stream, 11u);
  EXPECT_EQ(events[0].second.device, 3u);
  EXPECT_EQ(events[0].second.correlation, 201u);
  EXPECT_EQ(events[1].second.kind, wire::GpuEventKind::kStreamWait);
  EXPECT_EQ(events[1].second.stream, 1012u) << "per-thread default streams are asked for";
  EXPECT_EQ(events[1].second.event, events[0].second.event);
  EXPECT_EQ(events[2].second.kind, wire::GpuEventKind::kSynchronize);
  EXPECT_EQ(events[2].second.stream, ~0u);

  const auto shaped = std::find_if(seen_.begin(), seen_.end(),
                                   [](const SeenRecord& one) { return one.text == "gemm"; });
  ASSERT_NE(shaped, seen_.end());
  ASSERT_EQ(shaped->more.size(), sizeof(wire::KernelShape));
  wire::KernelShape shape;
  memcpy(&shape, shaped->more.data(), sizeof shape);
  EXPECT_EQ(shape.grid[2], 12u);
  EXPECT_EQ(shape.block[0], 20u);
  EXPECT_EQ(shape.registers, 64u);
  EXPECT_EQ(shape.static_shared_bytes, 1024u);
  EXPECT_EQ(shape.dynamic_shared_bytes, 2048u);
}

TEST_P(CudaTest, FlushSaysWhatItDelivered) {
  const auto child = start({"everything"});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(child->hear(), "ready");
  child->say("go on");
  EXPECT_EQ(child->wait(), 0);
  ASSERT_TRUE(drain_until(*session, [&] { return has(Kind::kGpuFlush); }));
  uint64_t delivered = 0;
  uint64_t dropped = 0;
  for (const auto& [name, flush] : of<wire::GpuFlush>(Kind::kGpuFlush)) {
    delivered += flush.delivered;
    dropped += flush.dropped;
  }
  // 4 metadata records, 12 activities, 4 others; another tool's marker is not ours.
  EXPECT_EQ(delivered, 20u);
  EXPECT_EQ(dropped, 17u);
}

TEST_P(CudaTest, TheEndBringsWhatWasHeldBack) {
  for (const std::string end : {"return", "_exit"}) {
    // Only the preloaded library intercepts _exit.
    if (end == "_exit" && how() == How::kLinked) continue;
    seen_.clear();
    const auto child = start({"held", end});
    const auto session = recorder_.accept();
    ASSERT_NE(session, nullptr);
    ASSERT_EQ(child->hear(), "ready");
    child->say("go on");
    EXPECT_EQ(child->wait(), 0) << end;
    EXPECT_TRUE(drain_until(*session, [&] { return activities().count("last words") != 0; }))
        << end;
    EXPECT_EQ(session->header().clean_end.load() & 0xff, wire::kCleanEnd);
  }
}

TEST_P(CudaTest, KilledProgramKeepsWhatWasFlushed) {
  const auto child = start({"held", "kill"});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(child->hear(), "ready");
  EXPECT_TRUE(drain_until(*session, [&] { return has(Kind::kGpuFlush); })) << "each second";
  child->say("die");
  EXPECT_EQ(child->wait(), 128 + SIGKILL);
  EXPECT_EQ(session->header().clean_end.load(), 0u);
  EXPECT_EQ(activities().count("last words"), 0u);
}

// Like a job that hangs in a kernel and is killed.
TEST_P(CudaTest, AHangBringsWhatIsHeldBack) {
  const auto child = start({"held", "kill"});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(child->hear(), "ready");
  session->mapping().control()->hangs.fetch_add(1);
  EXPECT_TRUE(drain_until(*session, [&] { return activities().count("last words") != 0; }));
  child->say("die");
  EXPECT_EQ(child->wait(), 128 + SIGKILL);
}

TEST_P(CudaTest, StoredAndLostMakeWhatWasProduced) {
  constexpr uint64_t kBuffers = 900;
  constexpr uint64_t kPerBuffer = 600;
  constexpr uint64_t kRecordBytes = 216;
  const auto child = start({"flood", std::to_string(kBuffers)});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(child->hear(), "ready");
  child->say("go on");
  ASSERT_EQ(child->hear(), "flooded") << "nobody reads, and the program goes on";
  child->say("go on");
  uint64_t stored = 0;
  EXPECT_TRUE(soon([&] {
    for (const SeenRecord& one : session->drain()) {
      if (one.record.kind == Kind::kGpuActivity) ++stored;
    }
    return session->header().clean_end.load() != 0;
  }));
  EXPECT_EQ(child->wait(), 0);
  for (const SeenRecord& one : session->drain()) {
    if (one.record.kind == Kind::kGpuActivity) ++stored;
  }
  // The loss of a buffer is counted in units of 64 bytes.
  const uint64_t lost_bytes = session->loss(wire::SharedLoss::kCuptiQueue) * 64;
  const uint64_t lost = lost_bytes / kRecordBytes;
  EXPECT_EQ(session->dropped(), 0u);
  EXPECT_GT(lost, 0u) << "the queue has a cap";
  const uint64_t produced = kBuffers * kPerBuffer;
  EXPECT_LE(stored + lost, produced + kBuffers);
  EXPECT_GE(stored + lost, produced);
}

// Record kinds stay enabled: the real CUPTI may crash if they are switched off while kernels run.
TEST_P(CudaTest, FollowsTheControlPage) {
  const auto child = start({"watch"});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(child->hear(), kAllOn);
  const auto becomes = [&](const std::string& wanted) {
    return soon([&] {
      child->say("look");
      return child->hear() == wanted;
    });
  };
  const auto kernel_within = [&] {
    child->say("kernel");
    child->hear();
  };
  session->control(CaptureState::kRecording, DetailLevel::kLight);
  EXPECT_TRUE(becomes(kNoEvents));
  session->control(CaptureState::kRecording, DetailLevel::kStandard);
  EXPECT_TRUE(becomes(kAllOn));
  session->control(CaptureState::kOff, DetailLevel::kFull);
  EXPECT_TRUE(becomes(kNoEvents)) << "the subscription stays";
  kernel_within();
  session->control(CaptureState::kRecording, DetailLevel::kStandard);
  EXPECT_TRUE(becomes(kAllOn));
  kernel_within();
  EXPECT_TRUE(drain_until(*session, [&] { return activities().count("on demand") != 0; }));
  // Longer than work that finishes after the end may still arrive.
  session->control(CaptureState::kOff, DetailLevel::kFull);
  EXPECT_TRUE(becomes(kNoEvents));
  std::this_thread::sleep_for(std::chrono::milliseconds(3'500));
  kernel_within();
  session->control(CaptureState::kRecording, DetailLevel::kStandard);
  EXPECT_TRUE(becomes(kAllOn));
  kernel_within();
  child->say("end");
  EXPECT_EQ(child->wait(), 0);
  drain_until(*session, [&] { return session->header().clean_end.load() != 0; });
  EXPECT_EQ(of<wire::GpuActivity>(Kind::kGpuActivity).size(), 2u) << "none of the off times";
}

// Kinds enabled later may crash the real CUPTI, or yield no records.
TEST_P(CudaTest, ArmedAllIsOnAndNothingIsRecorded) {
  const auto child = start({"watch"}, {{"DPROF_DETAIL", "armed-full"}});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(child->hear(), kNoEvents);
  child->say("kernel");
  child->hear();
  session->control(CaptureState::kRecording, DetailLevel::kStandard);
  EXPECT_TRUE(soon([&] {
    child->say("look");
    return child->hear() == kAllOn;
  }));
  child->say("kernel");
  child->hear();
  child->say("end");
  EXPECT_EQ(child->wait(), 0);
  drain_until(*session, [&] { return session->header().clean_end.load() != 0; });
  EXPECT_EQ(of<wire::GpuActivity>(Kind::kGpuActivity).size(), 1u);
}

// Decoding does not use the linker: a fork does not wait for it (20 ms, as it does for linker use).
TEST_P(CudaTest, AForkDoesNotWaitForDecoding) {
  const auto child = start({"forks"}, {{"FAKE_CUPTI_SLOW_US", "1000"}});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  EXPECT_LT(std::stol(child->hear()), 10'000) << "microseconds longer than without";
  child->say("go on");
  EXPECT_EQ(child->wait(), 0);
}

// CUPTI goes on filling buffers, which are returned to it unread.
TEST_P(CudaTest, NothingIsReadWithoutARecorder) {
  for (const bool dies : {true, false}) {
    SCOPED_TRACE(dies ? "it died" : "it said stop");
    const auto child = start({"watch"});
    const auto session = recorder_.accept();
    ASSERT_NE(session, nullptr);
    ASSERT_EQ(child->hear(), kAllOn);
    if (dies) {
      session->hang_up();
    } else {
      session->control(CaptureState::kStop, DetailLevel::kFull);
    }
    EXPECT_TRUE(soon([&] {
      child->say("look");
      return child->hear() == kNoEvents;
    }));
    child->say("kernel");
    child->hear();
    child->say("end");
    EXPECT_EQ(child->wait(), 0) << "no call that breaks CUPTI's rules";
    for (SeenRecord& one : session->drain()) seen_.push_back(std::move(one));
    EXPECT_EQ(activities().count("on demand"), 0u);
  }
}

// With yield the helper attaches, after the first exit handler was registered.
TEST_P(CudaTest, WhatALateAttachHoldsBackComesAtTheEnd) {
  const auto child = start({"held_late"}, {{"DPROF_CUDA", "yield"}});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  ASSERT_TRUE(
      drain_until(*session, [&] { return session->fact(wire::Fact::kCuptiSource) == "on"; }));
  child->say("go on");
  EXPECT_EQ(child->wait(), 0);
  EXPECT_TRUE(drain_until(*session, [&] { return session->header().clean_end.load() != 0; }));
  EXPECT_TRUE(drain_until(*session, [&] { return activities().count("last words") != 0; }));
}

TEST_P(CudaTest, AnotherClientIsLeftAloneAndNamed) {
  const auto child = start({"taken"}, {{"FAKE_CUPTI_OTHER", "CUPTI for Kineto"}});
  // `watch` opens the door after the other client has subscribed.
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(child->hear(), kAllOff);
  EXPECT_EQ(session->remarks(wire::Remark::kCuptiTaken), 1u);
  EXPECT_EQ(session->fact(wire::Fact::kCuptiSource),
            "off: CUPTI belongs to CUPTI for Kineto (code 39)");
  child->say("end");
  EXPECT_EQ(child->wait(), 0) << "no activity call without the subscription";
}

TEST_P(CudaTest, NsightIsNamedFromItsVariable) {
  const auto child = start({"taken"}, {{"NSYS_PROFILING_SESSION_ID", "1"}});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  child->hear();
  EXPECT_EQ(session->fact(wire::Fact::kCuptiSource),
            "off: CUPTI belongs to Nsight Systems (code 39)");
  child->say("end");
  EXPECT_EQ(child->wait(), 0);
}

TEST_P(CudaTest, RefusalIsReportedWithItsCode) {
  const auto child = start({"watch"}, {{"FAKE_CUPTI_ALL", "999"}});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  child->hear();
  EXPECT_EQ(session->remarks(wire::Remark::kCuptiRefused), 1u);
  EXPECT_EQ(session->fact(wire::Fact::kCuptiSource), "off: cuptiSubscribe answered 999");
  child->say("end");
  EXPECT_EQ(child->wait(), 0);
  EXPECT_EQ(session->header().clean_end.load() & 0xff, wire::kCleanEnd);
}

TEST_P(CudaTest, MissingLibraryIsReported) {
  const auto child = start({"door"}, {{"DPROF_CUPTI_LIBRARY", "/nowhere/libcupti.so"}});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(child->hear(), "ready");
  EXPECT_EQ(session->remarks(wire::Remark::kCuptiMissing), 1u);
  EXPECT_THAT(session->fact(wire::Fact::kCuptiSource), ::testing::HasSubstr("/nowhere"));
  child->say("go on");
  EXPECT_EQ(child->wait(), 0);
}

TEST_P(CudaTest, RealLibraryWithoutADriverRefuses) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer does not see the loader's own lock";
#endif
  if (std::string(DPROF_CUPTI_REAL).empty()) GTEST_SKIP() << "no real libcupti was found";
  if (access("/dev/nvidiactl", F_OK) == 0) GTEST_SKIP() << "this machine has a driver";
  const auto child = start({"door"}, {{"DPROF_CUPTI_LIBRARY", DPROF_CUPTI_REAL}});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(child->hear(), "ready");
  EXPECT_EQ(session->remarks(wire::Remark::kCuptiRefused), 1u);
  EXPECT_EQ(session->fact(wire::Fact::kCuptiSource), "off: cuptiSubscribe answered 999");
  child->say("go on");
  EXPECT_EQ(child->wait(), 0) << "the program is unharmed";
}

TEST_P(CudaTest, OffNeverTouchesCupti) {
  const auto child = start({"watch"}, {{"DPROF_CUDA", "off"}});
  ASSERT_EQ(child->hear(), kAllOff);
  child->say("end");
  EXPECT_EQ(child->wait(), 0);
}

TEST_P(CudaTest, YieldWaitsForTheOtherAndGivesBack) {
  const auto child = start({"taken"}, {{"DPROF_CUDA", "yield"}});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  const auto becomes = [&](const std::string& wanted) {
    return soon([&] {
      child->say("look");
      return child->hear().starts_with(wanted);
    });
  };
  child->hear();
  EXPECT_TRUE(soon([&] { return session->remarks(wire::Remark::kCuptiTaken) == 1; }));
  child->say("leave");
  child->hear();
  EXPECT_TRUE(becomes("subscribed=1 kernel=1 graph=1 sync=1 launch=1 events=1;")) << "tried again";
  child->say("kernel");
  child->hear();
  session->control(CaptureState::kOff, DetailLevel::kFull);
  EXPECT_TRUE(becomes("subscribed=0 kernel=0 graph=0 sync=0 launch=0 events=0;")) << "given back";
  EXPECT_TRUE(drain_until(*session, [&] { return activities().count("on demand") != 0; }));
  session->control(CaptureState::kRecording, DetailLevel::kFull);
  EXPECT_TRUE(becomes("subscribed=1 kernel=1 graph=1 sync=1 launch=1 events=1;"));
  child->say("end");
  EXPECT_EQ(child->wait(), 0);
}

// No record kind that must have seen a graph's creation; and all calls, of which some are kept.
TEST_P(CudaTest, YieldAttachesToADeviceInUse) {
  const std::string driver = test_support::test_bin_dir() + "/fake_cuda/libcuda.so.1";
  if (!std::filesystem::exists(driver)) GTEST_SKIP() << "the fake driver is not built";
  const auto child = start({"late"}, {{"DPROF_CUDA", "yield"}, {"FAKE_CUDA_LIBRARY", driver}});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(soon([&] {
    child->say("look");
    return child->hear().starts_with(
        "subscribed=1 kernel=1 graph=0 sync=1 launch=0 events=1; 0 switched off");
  }));
  child->say("end");
  EXPECT_EQ(child->wait(), 0);
}

TEST_P(CudaTest, AClockThatIsNotTakenIsFlagged) {
  const auto child = start({"everything"}, {{"FAKE_CUPTI_CLOCK", "1"}});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(child->hear(), "ready");
  child->say("go on");
  EXPECT_EQ(child->wait(), 0);
  ASSERT_TRUE(drain_until(*session, [&] { return activities().count("gemm") != 0; }));
  EXPECT_EQ(activities().at("gemm").flags, wire::gpu_flag::kRealtimeBase);
  EXPECT_EQ(activities().at("no times").flags, wire::gpu_flag::kNoTimestamp);
}

TEST_P(CudaTest, OldDriverFallsBackToOneClient) {
  if (!v2()) GTEST_SKIP() << "the library has one way only";
  const auto child = start({"watch"}, {{"FAKE_CUPTI_MULTI", "39"}});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(child->hear(), kAllOn);
  EXPECT_EQ(session->fact(wire::Fact::kCuptiVersion), "API 130301, v1");
  child->say("end");
  EXPECT_EQ(child->wait(), 0);
}

TEST_P(CudaTest, GarbageIsCountedAndSurvived) {
  const auto child = start({"garbage"});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(child->hear(), "ready");
  EXPECT_TRUE(drain_until(*session, [&] { return activities().count("after garbage") != 0; }));
  EXPECT_TRUE(soon([&] { return session->loss(wire::SharedLoss::kCuptiQueue) >= 4; }));
  EXPECT_EQ(activities().count("cut"), 0u);
  child->say("go on");
  EXPECT_EQ(child->wait(), 0);
}

TEST_P(CudaTest, ManyThreadsAtOnce) {
  const auto child = start({"threads", "500"});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(drain_until(*session, [&] { return session->header().clean_end.load() != 0; }));
  EXPECT_EQ(child->wait(), 0);
  drain_until(*session, [] { return true; });
  EXPECT_EQ(of<wire::GpuActivity>(Kind::kGpuActivity).size(), 2000u);
  EXPECT_EQ(of<wire::GpuEvent>(Kind::kGpuEvent).size(), 2000u);
}

TEST_P(CudaTest, ExternalIdsNest) {
  const auto child = start({"external"});
  EXPECT_EQ(child->wait(), 0);
}

TEST_P(CudaTest, WithoutARecorderTheDoorDoesNothing) {
  const auto child = start({"watch"}, {{"DPROF_SOCKET", "(unset)"}});
  EXPECT_EQ(child->hear(), kAllOff);
  child->say("end");
  EXPECT_EQ(child->wait(), 0);
}

INSTANTIATE_TEST_SUITE_P(Collector, CudaTest,
                         ::testing::Combine(::testing::Values(How::kLinked, How::kPreloaded),
                                            ::testing::Values(Fake::kV1, Fake::kV2)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param) == How::kLinked
                                                  ? "Linked"
                                                  : "Preloaded") +
                                  (std::get<1>(test.param) == Fake::kV1 ? "V1" : "V2");
                         });

}  // namespace
}  // namespace dprof::inject
