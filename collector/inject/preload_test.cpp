// SPDX-License-Identifier: Apache-2.0
// libdprof.so as a file, and its effect on programs that preload it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>

#include "collector/inject/test_support/mini_recorder.h"
#include "collector/inject/test_support/soon.h"
#include "collector/inject/torch_build.h"
#include "collector/wire/enum_values.h"
#include "tests/support/paths.h"

namespace dprof::inject {
namespace {

const std::string kLibrary = test_support::lib_dir() + "/libdprof.so";
const std::string kBin = test_support::test_bin_dir();

std::vector<std::string> lines_of(const std::string& command) {
  std::vector<std::string> lines;
  FILE* pipe = popen(command.c_str(), "r");
  char line[1024];
  while (pipe != nullptr && fgets(line, sizeof line, pipe) != nullptr) lines.emplace_back(line);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return lines;
}

TEST(PreloadFile, NeedsLibcOnly) {
  size_t needed = 0;
  for (const std::string& line : lines_of("readelf -dW " + kLibrary)) {
    if (line.find("(NEEDED)") == std::string::npos) continue;
    ++needed;
    EXPECT_THAT(line, ::testing::AnyOf(::testing::HasSubstr("[libc.so.6]"),
                                       ::testing::HasSubstr("[ld-linux")));
  }
  EXPECT_GE(needed, 1u);
}

TEST(PreloadFile, ShowsItsDoorsAndNothingElse) {
  std::set<std::string> names;
  for (const std::string& line : lines_of("nm -D --defined-only " + kLibrary)) {
    std::string name = line.substr(line.rfind(' ') + 1);
    name.pop_back();
    names.insert(name);
  }
  EXPECT_THAT(names, ::testing::ElementsAre("InitializeInjection", "InitializeInjectionNvtx2",
                                            "InitializeInjectionNvtxExtension", "_Exit", "_exit",
                                            "dlopen", "ncclProfiler_v3", "ncclProfiler_v4",
                                            "ncclProfiler_v5", "ncclProfiler_v6"));
}

TEST(PreloadFile, StaysLoadedAndHasStaticThreadStorage) {
  bool no_delete = false;
  bool static_tls = false;
  for (const std::string& line : lines_of("readelf -dW " + kLibrary)) {
    no_delete |= line.find("NODELETE") != std::string::npos;
    static_tls |= line.find("STATIC_TLS") != std::string::npos;
  }
  EXPECT_TRUE(no_delete);
  EXPECT_TRUE(static_tls);
}

TEST(Preload, DlopenKeepsTheCallersRunpath) {
  EXPECT_EQ(Child({kBin + "/origin/origin_probe"}, {}).wait(), 0) << "the test itself";
  EXPECT_EQ(Child({kBin + "/origin/origin_probe"}, {{"LD_PRELOAD", kLibrary}}).wait(), 0);
}

TEST(Preload, ShellsStayUntouched) {
  const MiniRecorder recorder;
  Child child({"/bin/sh", "-c", "ls /proc/self/task | wc -l; ls /proc/$$/task | wc -l"},
              {{"LD_PRELOAD", kLibrary}, {wire::kSocketVariable, recorder.path()}});
  EXPECT_EQ(child.hear(), "1");
  EXPECT_EQ(child.hear(), "1");
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(recorder.accept(100), nullptr) << "no torch, no NVTX: no session";
}

// The recorder's verdict on an unknown LibTorch.
void judge(const SeenSession& session, wire::TorchVerdict verdict, const char* sentence) {
  wire::ControlPage& control = *session.mapping().control();
  snprintf(control.torch_sentence, sizeof control.torch_sentence, "%s", sentence);
  control.torch_verdict.store(static_cast<uint32_t>(verdict), std::memory_order_release);
}

TEST(Preload, ForeignTorchIsLeftAloneAndNamed) {
  const MiniRecorder recorder;
  Child child({kBin + "/loader_probe", kBin + "/foreign/libtorch_cpu.so"},
              {{"LD_PRELOAD", kLibrary}, {wire::kSocketVariable, recorder.path()}});
  const auto session = recorder.accept();
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(soon([&] { return !session->fact(wire::Fact::kTorchSource).empty(); }));
  EXPECT_EQ(session->fact(wire::Fact::kTorchBuildId), "1234abcd");
  EXPECT_EQ(session->fact(wire::Fact::kTorchVersion), "2.12.3");
  EXPECT_THAT(session->fact(wire::Fact::kTorchSource), ::testing::StartsWith("off: "));
  if (kTorchBuildId[0] == '\0') {
    EXPECT_EQ(session->remarks(wire::Remark::kTorchLibraryMissing), 1u);
    return;
  }
  EXPECT_TRUE(soon([&] { return !session->fact(wire::Fact::kTorchPath).empty(); }));
  EXPECT_EQ(session->fact(wire::Fact::kTorchPath), kBin + "/foreign/libtorch_cpu.so");
  EXPECT_EQ(session->remarks(wire::Remark::kTorchVersionMismatch), 0u) << "nobody has said so";
  judge(*session, wire::TorchVerdict::kDiffers, "its numel is elsewhere");
  EXPECT_TRUE(soon([&] { return session->remarks(wire::Remark::kTorchVersionMismatch) != 0; }));
  EXPECT_EQ(session->fact(wire::Fact::kTorchSource), "off: its numel is elsewhere");
}

// This fake torch has none of the real functions: the library is bound at once, or not at all.
TEST(Preload, ATorchThatLacksSymbolsIsRefusedByName) {
  if (kTorchBuildId[0] == '\0') GTEST_SKIP() << "built without LibTorch";
  const MiniRecorder recorder;
  Child child({kBin + "/loader_probe", kBin + "/foreign/libtorch_cpu.so"},
              {{"LD_PRELOAD", kLibrary}, {wire::kSocketVariable, recorder.path()}});
  const auto session = recorder.accept();
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(soon([&] { return !session->fact(wire::Fact::kTorchPath).empty(); }));
  judge(*session, wire::TorchVerdict::kFits, "");
  EXPECT_TRUE(soon([&] { return session->remarks(wire::Remark::kTorchLibraryMissing) != 0; }));
  EXPECT_THAT(session->fact(wire::Fact::kTorchSource), ::testing::StartsWith("off: "));
  EXPECT_THAT(session->fact(wire::Fact::kTorchSource), ::testing::HasSubstr(".so"));
}

// An object cannot be attributed to one of the two.
TEST(Preload, TwoTorchesInOneProcessAreRefused) {
  const std::string first = kBin + "/foreign/libtorch_cpu.so";
  const std::string second = kBin + "/foreign/copy/libtorch_cpu.so";
  std::filesystem::create_directories(kBin + "/foreign/copy");
  std::filesystem::copy_file(first, second, std::filesystem::copy_options::overwrite_existing);
  const MiniRecorder recorder;
  Child child({kBin + "/loader_probe", first},
              {{"LD_PRELOAD", kLibrary + ":" + first + ":" + second},
               {wire::kSocketVariable, recorder.path()}});
  const auto session = recorder.accept();
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(soon([&] { return session->remarks(wire::Remark::kTorchVersionMismatch) != 0; }));
  EXPECT_EQ(session->fact(wire::Fact::kTorchSource),
            "off: two LibTorch in one process: " + first + " and " + second);
}

TEST(Preload, TheLibraryThatWasBuiltForThisTorchIsChosen) {
  // libdprof.so searches its own folder, so it is copied next to the other library.
  const std::string folder = kBin + "/other_torch";
  std::filesystem::copy_file(kLibrary, folder + "/libdprof.so",
                             std::filesystem::copy_options::overwrite_existing);
  const MiniRecorder recorder;
  Child child({kBin + "/loader_probe", kBin + "/foreign/libtorch_cpu.so"},
              {{"LD_PRELOAD", folder + "/libdprof.so"}, {wire::kSocketVariable, recorder.path()}});
  const auto session = recorder.accept();
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(soon([&] { return !session->fact(wire::Fact::kTorchSource).empty(); }));
  EXPECT_EQ(session->fact(wire::Fact::kTorchSource), "on");
  EXPECT_EQ(session->fact(wire::Fact::kMemorySource), "the other one");
  EXPECT_EQ(session->remarks(wire::Remark::kTorchVersionMismatch), 0u);
  EXPECT_EQ(session->remarks(wire::Remark::kTorchLibraryMissing), 0u);
}

// Programs under Nsight Compute find no CUDA if another wrapper calls Nsight's.
TEST(Preload, AnotherToolsDlopenIsAskedUnlessItIsNsightComputes) {
  const auto first_line = [](const std::string& other) {
    Child child({kBin + "/loader_probe", kBin + "/foreign/libtorch_cpu.so"},
                {{"LD_PRELOAD", kLibrary + ":" + kBin + "/" + other}});
    return child.hear();
  };
  EXPECT_EQ(first_line("libdprof_test_other_dlopen.so"), "the other was asked");
  EXPECT_EQ(first_line("libInterceptorInjectionTarget.so"), "ready");
}

TEST(Preload, RealNcclsRangesComeWithPayloads) {
  const std::string nccl = DPROF_NCCL_LIBRARY;
  if (nccl.empty() || !std::filesystem::exists(nccl)) {
    GTEST_SKIP() << "libnccl.so.2 is not here (the wheel nvidia-nccl-cu13 has it)";
  }
  const MiniRecorder recorder;
  Child child({kBin + "/loader_probe", nccl, "all_reduce"},
              {{"NVTX_INJECTION64_PATH", kLibrary}, {wire::kSocketVariable, recorder.path()}});
  const auto session = recorder.accept();
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(child.hear(), "ready");
  const std::vector<SeenRecord> seen = session->drain();
  const auto begin = std::find_if(seen.begin(), seen.end(), [](const SeenRecord& one) {
    return one.record.kind == wire::Kind::kRangeBegin && one.text == "ncclAllReduce";
  });
  ASSERT_NE(begin, seen.end());
  EXPECT_EQ(begin->domain, "NCCL");
  EXPECT_EQ(begin->record.range_begin.payload_kind, wire::payload_kind::kSchema);
  constexpr uint64_t kAllReduceSchema = (1 << 24) + 5;
  EXPECT_EQ(begin->record.range_begin.schema_id, kAllReduceSchema);
  ASSERT_EQ(begin->record.range_begin.payload, 24u);
  uint64_t payload[3];
  memcpy(payload, begin->more.data(), sizeof payload);
  EXPECT_EQ(payload[0], 0u) << "no communicator";
  EXPECT_EQ(payload[1], 4096u) << "bytes";

  std::vector<std::string> fields;
  for (const SeenRecord& one : seen) {
    if (one.record.kind == wire::Kind::kSchemaEntry && one.domain == "NCCL" &&
        one.record.schema_entry.schema_id == kAllReduceSchema) {
      fields.push_back(std::to_string(one.record.schema_entry.offset));
      EXPECT_FALSE(one.text.empty());
    }
  }
  EXPECT_THAT(fields, ::testing::ElementsAre("0", "8", "16"));
  EXPECT_TRUE(std::any_of(seen.begin(), seen.end(), [](const SeenRecord& one) {
    return one.record.kind == wire::Kind::kRangeEnd && one.domain == "NCCL";
  }));
  EXPECT_EQ(session->fact(wire::Fact::kNvtxSource), "on");
}

}  // namespace
}  // namespace dprof::inject
