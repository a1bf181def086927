// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/doctor/doctor.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "collector/recorder/doctor/doctor_checks_internal.h"
#include "collector/recorder/doctor/doctor_child.h"
#include "collector/recorder/ranks/torch_verdict.h"
#include "tests/support/temporary_folder.h"

namespace dprof::recorder {
namespace {

using test_support::TemporaryFolder;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
namespace fs = std::filesystem;
using std::chrono::seconds;

TEST(DoctorChildTest, Answers) {
  const Result<std::string> long_text = ask_child([] { return std::string(300'000, 'x'); });
  ASSERT_TRUE(long_text.ok());
  EXPECT_EQ(long_text->size(), 300'000u);
}

// A broken driver crashes the child, not this process.
TEST(DoctorChildTest, ItsCrashIsAnAnswer) {
  const Result<std::string> crashed = ask_child([]() -> std::string {
    signal(SIGSEGV, SIG_DFL);  // a sanitizer's handler would print a long report
    raise(SIGSEGV);
    return "not reached";
  });
  ASSERT_FALSE(crashed.ok());
  EXPECT_THAT(crashed.error().what, HasSubstr("crashed"));
  const Result<std::string> ended = ask_child([]() -> std::string { _exit(3); });
  ASSERT_FALSE(ended.ok());
  EXPECT_THAT(ended.error().what, HasSubstr("3"));
}

TEST(DoctorChildTest, DoesNotWaitForOneThatHangs) {
  const auto begin = std::chrono::steady_clock::now();
  const Result<std::string> hung = ask_child(
      []() -> std::string {
        while (true) pause();
      },
      seconds(1));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(15));
  ASSERT_FALSE(hung.ok());
  EXPECT_THAT(hung.error().what, HasSubstr("1 s"));
}

TEST(DoctorChildTest, RunsCommands) {
  const Result<CommandAnswer> good = ask_command({"sh", "-c", "echo out; echo err >&2; exit 7"});
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good->code, 7);
  EXPECT_EQ(good->output, "out\n");
  const Result<CommandAnswer> missing = ask_command({"/nowhere/at/all"});
  ASSERT_TRUE(missing.ok());
  EXPECT_EQ(missing->code, 127);
  // A grandchild that keeps the pipe open is not waited for.
  const Result<CommandAnswer> left = ask_command({"sh", "-c", "sleep 5 & echo done"}, seconds(4));
  ASSERT_TRUE(left.ok());
  EXPECT_EQ(left->output, "done\n");
}

TEST(DoctorTest, FindsProgramsAsShellsDo) {
  const TemporaryFolder scratch;
  fs::create_directories(scratch.path() / "a/tool");  // a folder is no program
  fs::create_directories(scratch.path() / "b");
  std::ofstream(scratch.path() / "b/tool") << "#!/bin/sh\n";
  const std::string path = fmt::format("{0}/a::{0}/b", scratch.path().string());
  EXPECT_EQ(find_program(path, "tool"), fs::path());
  fs::permissions(scratch.path() / "b/tool", fs::perms::owner_all);
  EXPECT_EQ(find_program(path, "tool"), scratch.path() / "b/tool");
  EXPECT_EQ(find_program("", "tool"), fs::path());
}

TEST(DoctorTest, FolderThatIsNotThere) {
  const Check check = check_folder("/nowhere/at/all");
  EXPECT_EQ(check.state, Ability::kNo);
  EXPECT_THAT(check.hint, Not(IsEmpty()));
}

TEST(DoctorTest, FolderOnANetwork) {
  setenv("DPROF_FAKE_FS_TYPE", "0x6969", 1);
  const Check check = check_folder(fs::temp_directory_path());
  unsetenv("DPROF_FAKE_FS_TYPE");
  EXPECT_EQ(check.state, Ability::kLimited);
  EXPECT_THAT(check.found, HasSubstr("NFS"));
}

TEST(DoctorTest, BuildIdsComeFromTheFileAlone) {
  // The C library of this process has one.
  std::string library;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* found) {
        if (std::string_view(info->dlpi_name).find("libc.so.6") != std::string_view::npos) {
          *static_cast<std::string*>(found) = info->dlpi_name;
        }
        return 0;
      },
      &library);
  ASSERT_FALSE(library.empty());
  const std::string build_id = build_id_of(library);
  EXPECT_EQ(build_id.size(), 40u);
  EXPECT_EQ(build_id.find_first_not_of("0123456789abcdef"), std::string::npos);

  const TemporaryFolder scratch;
  const std::string copy = scratch.file("copy.so");
  std::ifstream source(library, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(source)), {});
  for (const size_t length : {0, 3, 16, 63, 64, 200, 700}) {
    std::ofstream(copy, std::ios::binary) << bytes.substr(0, length);
    EXPECT_EQ(build_id_of(copy), "") << length;
  }
  // A segment table that lies beyond the file.
  std::string lies = bytes.substr(0, 4096);
  for (size_t i = 32; i < 40; ++i) lies[i] = '\x7f';
  std::ofstream(copy, std::ios::binary) << lies;
  EXPECT_EQ(build_id_of(copy), "");
  EXPECT_EQ(build_id_of("/nowhere/at/all.so"), "");
}

TEST(DoctorTest, OtherToolsAreNamed) {
  for (const char* name : {"NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH", "NCCL_PROFILER_PLUGIN",
                           "KINETO_USE_DAEMON"}) {
    unsetenv(name);
  }
  EXPECT_EQ(check_other_tools().state, Ability::kOk);
  setenv("CUDA_INJECTION64_PATH", "/opt/tool/libinject.so", 1);
  setenv("KINETO_USE_DAEMON", "0", 1);  // set, but off
  const Check check = check_other_tools();
  unsetenv("CUDA_INJECTION64_PATH");
  unsetenv("KINETO_USE_DAEMON");
  EXPECT_EQ(check.state, Ability::kLimited);
  EXPECT_THAT(check.found, HasSubstr("CUDA_INJECTION64_PATH=/opt/tool/libinject.so"));
  EXPECT_THAT(check.found, Not(HasSubstr("KINETO")));
  EXPECT_THAT(check.meaning, HasSubstr("CUPTI"));
}

TEST(DoctorTest, NvmlIsAskedInAChild) {
  setenv("DPROF_NVML_LIBRARY", DPROF_FAKE_NVML, 1);
  EXPECT_EQ(check_nvml().state, Ability::kOk);
  EXPECT_EQ(check_nvml().found, "2 devices");
  setenv("FAKE_NVML", "no_driver", 1);
  const Check refused = check_nvml();
  EXPECT_EQ(refused.state, Ability::kNo);
  EXPECT_THAT(refused.found, HasSubstr("Driver Not Loaded"));
  unsetenv("FAKE_NVML");
  setenv("DPROF_NVML_LIBRARY", "/nowhere/libnvidia-ml.so.1", 1);
  EXPECT_EQ(check_nvml().state, Ability::kNo);
  unsetenv("DPROF_NVML_LIBRARY");
}

// A torch of another build, as far as its files show.
TEST(DoctorTest, AnotherTorchIsRefused) {
  const Check good{kTorchArea, "libdprof_torch.so", Ability::kOk, "", "", ""};
  FoundTorch torch;
  torch.folder = "/venv/torch";
  torch.version = "2.9.9";
  torch.build_id = "1234567890abcdef";
  DoctorOptions options;
  options.libraries = "/nowhere";
  const Check other = check_torch(options, torch, good);
  EXPECT_EQ(other.state, Ability::kNo);
  EXPECT_THAT(other.found, StartsWith("2.9.9"));
  EXPECT_THAT(other.meaning, HasSubstr("/nowhere/libdprof_torch.so is not there"));
  EXPECT_THAT(other.hint, HasSubstr("docs/torch_versions.md"));
  FoundTorch none;
  none.why_not = "no python3 on PATH";
  EXPECT_EQ(check_torch(options, none, good).state, Ability::kLimited);
}

// A library built for exactly this torch takes precedence over the general one.
TEST(DoctorTest, AnotherTorchWithItsOwnLibraryIsGood) {
  const test_support::TemporaryFolder folder;
  DoctorOptions options;
  options.libraries = folder.path();
  std::ofstream(folder.path() / "libdprof_torch-1234567890abcdef.so") << "x";
  FoundTorch torch;
  torch.folder = "/venv/torch";
  torch.version = "2.9.1";
  torch.build_id = "1234567890abcdef";
  for (const Ability library : {Ability::kOk, Ability::kNo}) {
    const Check base{kTorchArea, "libdprof_torch.so", library, "", "", ""};
    const Check check = check_torch(options, torch, base);
    EXPECT_EQ(check.state, Ability::kOk);
    EXPECT_THAT(check.found, StartsWith("2.9.1"));
    EXPECT_EQ(check.meaning, "");
  }
  torch.build_id = "1234567890abcdee";
  EXPECT_EQ(check_torch(options, torch, {kTorchArea, "", Ability::kOk, "", "", ""}).state,
            Ability::kNo);
}

TEST(DoctorTest, AKnownTorchIsNotProbed) {
  FoundTorch torch;
  torch.folder = "/venv/torch";
  torch.version = "2.13.0+cu130";
  torch.build_id = "6e37ee1c79943564c4acfec06954c48035e60152";
  const Check check = check_torch({}, torch, {kTorchArea, "", Ability::kOk, "", "", ""});
  EXPECT_EQ(check.state, Ability::kOk);
  EXPECT_THAT(check.found, HasSubstr("knows"));
}

TEST(DoctorTest, AProbeThatCrashesOrHangsIsAnAnswer) {
  const std::string fake = DPROF_FAKE_TORCH_SOURCE;
  const auto answer = [&](const char* act) {
    setenv("FAKE_TORCH_PROBE", act, 1);
    const std::string said = probe_torch(fake, fake, std::chrono::seconds(1));
    unsetenv("FAKE_TORCH_PROBE");
    return said;
  };
  EXPECT_EQ(answer("fits"), "fits");
  EXPECT_EQ(answer("differs"), "differs its numel is elsewhere");
  EXPECT_THAT(answer("crash"), StartsWith("differs the probe failed at its numel: it crashed"));
  EXPECT_EQ(answer("hang"), "unsure the probe failed at its numel: no answer within 1 s");
  EXPECT_THAT(probe_torch(fake, "/nowhere/libtorch_cpu.so"), StartsWith("unsure "));
  EXPECT_THAT(probe_torch("/nowhere/libdprof_torch.so", fake), StartsWith("differs "));
}

// On this machine, whatever it is: each check is complete, and each verdict follows from them.
TEST(DoctorTest, ExaminesThisMachine) {
  DoctorOptions options;
  options.program = "/nowhere/dprof";
  options.libraries = "/nowhere";
  options.folder = fs::temp_directory_path();
  const Result<Diagnosis> diagnosis = examine(options);
  ASSERT_TRUE(diagnosis.ok());
  std::set<std::string> names;
  for (const Check& check : diagnosis->checks) {
    EXPECT_TRUE(names.insert(check.name).second) << check.name;
    EXPECT_FALSE(check.found.empty()) << check.name;
    EXPECT_EQ(check.state == Ability::kOk, check.meaning.empty()) << check.name;
  }
  // Without its library nothing can be recorded, and that is the reason given.
  ASSERT_FALSE(diagnosis->recordable.empty());
  EXPECT_FALSE(diagnosis->recordable.front().can);
  EXPECT_THAT(diagnosis->recordable.front().why_not, HasSubstr("libdprof.so"));
}

}  // namespace
}  // namespace dprof::recorder
