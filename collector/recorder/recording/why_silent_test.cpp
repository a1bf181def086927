// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/recording/why_silent.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.h"

namespace dprof::recorder {
namespace {

using testing::HasSubstr;

#ifdef __aarch64__
constexpr uint16_t kOurs = EM_AARCH64;
constexpr char kOursName[] = "aarch64";
#else
constexpr uint16_t kOurs = EM_X86_64;
constexpr char kOursName[] = "x86_64";
#endif

// A program with one segment of that type and its content: the loader, for a PT_INTERP.
std::string program(const std::filesystem::path& file, uint32_t segment,
                    const std::string& loader = "/lib64/ld-linux-x86-64.so.2",
                    uint16_t machine = kOurs) {
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_machine = machine;
  head.e_phoff = sizeof head;
  head.e_phnum = 1;
  head.e_phentsize = sizeof(Elf64_Phdr);
  Elf64_Phdr part{};
  part.p_type = segment;
  part.p_offset = sizeof head + sizeof part;
  part.p_filesz = loader.size() + 1;
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&head), sizeof head);
  out.write(reinterpret_cast<const char*>(&part), sizeof part);
  out.write(loader.c_str(), static_cast<std::streamsize>(loader.size() + 1));
  out.close();
  chmod(file.c_str(), 0755);
  return file.string();
}

TEST(WhySilentTest, AStaticProgramLoadsNothing) {
  const test_support::TemporaryFolder folder;
  const std::string file = program(folder.path() / "static", PT_LOAD);
  const std::string want = file + " is statically linked: nothing can be loaded into it";
  EXPECT_EQ(why_silent(file, ""), want);
  EXPECT_EQ(why_silent("static", "/nowhere:" + folder.path().string()), want);
}

TEST(WhySilentTest, AnotherArchitectureIsNamed) {
  const test_support::TemporaryFolder folder;
  const std::string end = std::string(", and libdprof.so one for ") + kOursName;
  const std::string old = program(folder.path() / "old", PT_INTERP, "/lib/ld-linux.so.2", EM_386);
  EXPECT_EQ(why_silent(old, ""), old + " is a program for 32-bit x86" + end);
  const std::string odd = program(folder.path() / "odd", PT_INTERP, "/lib/ld.so.1", EM_RISCV);
  EXPECT_EQ(why_silent(odd, ""), odd + " is a program for machine 243 of ELF" + end);
}

TEST(WhySilentTest, AProgramWithMoreRightsIgnoresThePreload) {
  if (getuid() != 0) GTEST_SKIP() << "only root can give a file to others";
  const test_support::TemporaryFolder folder;
  const std::string file = program(folder.path() / "other", PT_INTERP);
  ASSERT_EQ(chown(file.c_str(), 65534, 65534), 0);
  ASSERT_EQ(chmod(file.c_str(), 04755), 0);
  EXPECT_THAT(why_silent(file, ""), HasSubstr("set-uid"));
}

TEST(WhySilentTest, AnotherCLibraryIsNamed) {
  const test_support::TemporaryFolder folder;
  const std::string file = program(folder.path() / "other", PT_INTERP, "/lib/ld-musl-x86_64.so.1");
  EXPECT_EQ(why_silent(file, ""),
            file +
                " is started by /lib/ld-musl-x86_64.so.1, not by glibc's loader: "
                "libdprof.so needs glibc");
}

TEST(WhySilentTest, AGlibcThatIsTooOldIsNamedWithBothVersions) {
  const test_support::TemporaryFolder folder;
  const std::filesystem::path loader = folder.path() / "ld-linux-x86-64.so.2";
  const std::filesystem::path library = folder.path() / "libdprof.so";
  std::ofstream(loader) << "loader";
  std::ofstream(folder.path() / "libc.so.6") << "GLIBC_2.2.5 GLIBC_2.17 GLIBC_2.9";
  std::ofstream(library) << "GLIBC_2.2.5 GLIBC_2.28";
  const std::string file = program(folder.path() / "old", PT_INTERP, loader.string());
  EXPECT_EQ(why_silent(file, "", library), file + " runs on glibc 2.17 (" +
                                               (folder.path() / "libc.so.6").string() +
                                               "): too old, libdprof.so needs 2.28");
  std::ofstream(library) << "GLIBC_2.17";
  EXPECT_EQ(why_silent(file, "", library), "");
}

TEST(WhySilentTest, WhatCanBeRecordedIsNoReason) {
  const test_support::TemporaryFolder folder;
  EXPECT_EQ(why_silent(program(folder.path() / "dynamic", PT_INTERP), ""), "");
  std::ofstream(folder.path() / "script") << "#!/bin/sh\n";
  EXPECT_EQ(why_silent((folder.path() / "script").string(), ""), "");
  EXPECT_EQ(why_silent("not-there", "/nowhere"), "");
  // This test itself, on this machine's C library.
  EXPECT_EQ(why_silent("/proc/self/exe", "", "/proc/self/exe"), "");
  // Cut off within its head, and within its table.
  for (const size_t bytes : {size_t{20}, sizeof(Elf64_Ehdr) + 4}) {
    const std::string file = program(folder.path() / "cut", PT_LOAD);
    std::filesystem::resize_file(file, bytes);
    EXPECT_EQ(why_silent(file, ""), "") << bytes;
  }
}

TEST(MissingLoaderTest, IsNamed) {
  const test_support::TemporaryFolder folder;
  const std::string file = program(folder.path() / "other", PT_INTERP, "/lib/ld-of-nobody.so.1");
  EXPECT_EQ(missing_loader(file, ""), "/lib/ld-of-nobody.so.1");
  EXPECT_EQ(missing_loader("other", folder.path().string()), "/lib/ld-of-nobody.so.1");
  EXPECT_EQ(missing_loader("/proc/self/exe", ""), "");
  EXPECT_EQ(missing_loader("not-there", "/nowhere"), "");
}

TEST(WhyUnreachedTest, NamesWhatDoesNotHandOnTheEnvironment) {
  EXPECT_THAT(why_unreached({"/usr/bin/sudo", "-E", "python"}), HasSubstr("`sudo dprof record …`"));
  EXPECT_THAT(why_unreached({"docker", "run", "image"}), HasSubstr("a container of docker"));
  for (const char* clears : {"-i", "-", "--ignore-environment"}) {
    EXPECT_THAT(why_unreached({"env", "-v", clears, "python"}), HasSubstr("env -i takes away"));
  }
  EXPECT_EQ(why_unreached({"env", "A=b", "python", "-i"}), "");
  EXPECT_EQ(why_unreached({"env"}), "");
  EXPECT_EQ(why_unreached({"./sudo.py"}), "");
  EXPECT_EQ(why_unreached({""}), "");
}

}  // namespace
}  // namespace dprof::recorder
