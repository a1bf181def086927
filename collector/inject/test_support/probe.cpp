// SPDX-License-Identifier: Apache-2.0
// A program to be recorded, for session_test.cpp. Built twice: with the collector linked in (so
// that sanitizers see it), and plain, which reaches libdprof.so as real programs do: LD_PRELOAD and
// NVTX_INJECTION64_PATH. It says "ready" and waits for a line where the test has to act in between.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "collector/inject/test_support/nvtx_unit.h"

#ifdef DPROF_PROBE_LINKED
#include "collector/inject/nvtx/nvtx_injection.h"
#endif

namespace {

using namespace dprof::inject;

NvtxUnit unit;

// The doors, looked up once: the child of a raw fork must not call the loader.
bool initialize(NvtxUnit& which) {
#ifdef DPROF_PROBE_LINKED
  return which.initialize(&nvtx::initialize, &nvtx::initialize_extension);
#else
  static InitializeNvtx door = nullptr;
  static InitializeExtension extension = nullptr;
  if (door == nullptr) {
    const char* path = getenv("NVTX_INJECTION64_PATH");
    void* library = path != nullptr ? dlopen(path, RTLD_LAZY) : nullptr;
    if (library == nullptr) return false;
    door = reinterpret_cast<InitializeNvtx>(dlsym(library, "InitializeInjectionNvtx2"));
    extension =
        reinterpret_cast<InitializeExtension>(dlsym(library, "InitializeInjectionNvtxExtension"));
  }
  return which.initialize(door, extension);
#endif
}

int entries_of(const char* folder) {
  int count = 0;
  DIR* directory = opendir(folder);
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

void meet_test() {
  printf("ready\n");
  fflush(stdout);
  char line[64];
  if (fgets(line, sizeof line, stdin) == nullptr) exit(9);
}

int everything() {
  if (!initialize(unit)) return 1;
  using namespace dprof::inject::nvtx;
  unit.push("outer");
  const auto domain = unit.core2<DomainHandle>(kDomainCreateA, "library");
  const auto name = unit.core2<StringHandle>(kDomainRegisterStringA, domain, "registered");
  EventAttributes event{};
  event.version = 3;
  event.size = sizeof event;
  event.category = 7;
  event.color_type = kColorArgb;
  event.color = 0xff112233;
  event.payload_type = 2;
  event.payload = static_cast<uint64_t>(-5);
  event.message_type = kMessageRegistered;
  event.message.registered = name;
  unit.core2<int>(kDomainRangePushEx, domain, &event);
  unit.core2<int>(kDomainRangePop, domain);
  const auto range = unit.core<RangeId>(kRangeStartW, L"wide \u00e9\u4e16\U0001f600");
  std::thread([range] { unit.core<void>(kRangeEnd, range); }).join();
  unit.core<void>(kMarkA, "moment");

  const SchemaEntryAttributes fields[] = {{0, 18, "hash", nullptr, 0, 0, nullptr, nullptr},
                                          {0, 15, "op", nullptr, 0, 0, nullptr, nullptr},
                                          {0, 22, "bytes", nullptr, 0, 0, nullptr, nullptr}};
  const SchemaAttributes schema{kSchemaHasName | kSchemaHasEntries | kSchemaHasEntryCount,
                                "call",
                                kSchemaTypeStatic,
                                0,
                                fields,
                                3,
                                24,
                                0,
                                0,
                                nullptr};
  const auto id = unit.payload<uint64_t>(kSchemaRegister, domain, &schema);
  const uint64_t data[] = {0xabcdef, 3, 4096};
  const PayloadData payload{id, sizeof data, data};
  event.payload_type = kPayloadExtended;
  event.reserved = 1;
  event.payload = reinterpret_cast<uintptr_t>(&payload);
  unit.core2<int>(kDomainRangePushEx, domain, &event);
  unit.payload<int>(kRangePopPayload, domain, &payload, size_t{1});
  unit.core<void>(kNameOsThreadA, uint32_t{4242}, "named");
  unit.pop();
  unit.pop();  // one too many: must not be written
  return 0;
}

int several_units() {
  static NvtxUnit units[3];
  for (NvtxUnit& one : units) {
    if (!initialize(one)) return 1;
  }
  using namespace dprof::inject::nvtx;
  for (const NvtxUnit& one : units) {
    const auto domain = one.core2<DomainHandle>(kDomainCreateA, "shared");
    EventAttributes event{};
    event.version = 3;
    event.size = sizeof event;
    event.message_type = kMessageAscii;
    event.message.ascii = "from a unit";
    one.core2<int>(kDomainRangePushEx, domain, &event);
    one.core2<int>(kDomainRangePop, domain);
  }
  return 0;
}

// Threads that come and go, `count` in all, each with `ranges` ranges.
int threads(int count, int ranges) {
  if (!initialize(unit)) return 1;
  for (int done = 0; done < count; done += 8) {
    std::vector<std::thread> some;
    for (int i = done; i < count && i < done + 8; ++i) {
      some.emplace_back([ranges] {
        for (int range = 0; range < ranges; ++range) {
          unit.push("work");
          unit.pop();
        }
      });
    }
    for (std::thread& one : some) one.join();
    usleep(1000);
  }
  return 0;
}

int many_live_threads(int count) {
  if (!initialize(unit)) return 1;
  std::barrier all(count);
  std::vector<std::thread> live;
  for (int i = 0; i < count; ++i) {
    live.emplace_back([&all] {
      unit.push("work");
      unit.pop();
      all.arrive_and_wait();
    });
  }
  for (std::thread& one : live) one.join();
  return 0;
}

int child_work() {
  unit.push("in the child");
  unit.pop();
  NvtxUnit again;
  return unit.enabled() || initialize(again) ? 1 : 0;
}

int with_fork(bool raw) {
  if (!initialize(unit)) return 1;
  unit.push("before");
  unit.pop();
  const pid_t child = raw ? static_cast<pid_t>(syscall(SYS_fork)) : fork();
  if (child == 0) {
    const int code = child_work();
    if (raw) syscall(SYS_exit_group, code);
    _exit(code);
  }
  int status = 0;
  waitpid(child, &status, 0);
  unit.push("after");
  unit.pop();
  meet_test();
  return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

// Children that call the loader, forked while the helper calls it too.
int with_many_forks(int count) {
  if (!initialize(unit)) return 1;
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      dl_iterate_phdr([](dl_phdr_info*, size_t, void*) { return 0; }, nullptr);
      _exit(dlopen("libm.so.6", RTLD_NOW) != nullptr ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) return 2;
  }
  return 0;
}

// A child that outlives its parent must not hide the parent's end from the recorder.
int with_orphan() {
  if (!initialize(unit)) return 1;
  if (fork() == 0) {
    close(STDOUT_FILENO);  // else a reader would wait for this child, too
    close(STDERR_FILENO);
    char byte = 0;
    while (read(STDIN_FILENO, &byte, 1) > 0) {  // until the test lets go
    }
    _exit(0);
  }
  return 0;
}

int with_vfork() {
  if (!initialize(unit)) return 1;
  const pid_t child = vfork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  meet_test();
  kill(getpid(), SIGKILL);
  return 0;
}

int with_closed_descriptors() {
  if (!initialize(unit)) return 1;
  unit.push("before");
  unit.pop();
  // Raw system calls: TSan would report the race for the number, which this test provokes.
  syscall(SYS_close_range, 3, ~0u, 0);
  // Give our socket's number to a descriptor of the program.
  for (int number = 3; number < 1010; ++number) syscall(SYS_dup3, 1, number, 0);
  usleep(300'000);
  unit.push("after");
  unit.pop();
  return fcntl(1000, F_GETFD) >= 0 && unit.enabled() ? 0 : 2;
}

int without_recorder() {
  const int threads_before = entries_of("/proc/self/task");
  const int descriptors_before = entries_of("/proc/self/fd");
  const bool taken = initialize(unit);
  const bool grown = entries_of("/proc/self/task") != threads_before ||
                     entries_of("/proc/self/fd") != descriptors_before;
  return taken || unit.extension_taken() || grown ? 1 : 0;
}

int with_small_files() {
  const rlimit limit{1 << 20, 1 << 20};
  setrlimit(RLIMIT_FSIZE, &limit);
  return initialize(unit) ? 1 : 0;
}

int many_ranges(int count) {
  if (!initialize(unit)) return 1;
  meet_test();
  for (int i = 0; i < count; ++i) {
    unit.push("outer");
    unit.push("inner");
    unit.pop();
    unit.pop();
  }
  return 0;
}

int until_disabled() {
  if (!initialize(unit)) return 1;
  unit.push("before");
  unit.pop();
  meet_test();
  for (int i = 0; i < 500 && unit.enabled(); ++i) usleep(10'000);
  const bool off = !unit.enabled();
  unit.push("while off");
  unit.pop();
  unit.push("across");
  meet_test();
  for (int i = 0; i < 100 && !unit.enabled(); ++i) usleep(10'000);
  unit.pop();  // of an unrecorded range
  unit.push("again");
  unit.pop();
  return off ? 0 : 2;
}

int killed() {
  if (!initialize(unit)) return 1;
  for (int i = 0; i < 1000; ++i) {
    unit.push("work");
    unit.pop();
  }
  kill(getpid(), SIGKILL);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const int number = argc > 2 ? atoi(argv[2]) : 0;
  if (what == "everything") return everything();
  if (what == "units") return several_units();
  if (what == "threads") return threads(number, 50);
  if (what == "live_threads") return many_live_threads(number);
  if (what == "fork") return with_fork(false);
  if (what == "raw_fork") return with_fork(true);
  if (what == "forks") return with_many_forks(number);
  if (what == "orphan") return with_orphan();
  if (what == "vfork") return with_vfork();
  if (what == "closed") return with_closed_descriptors();
  if (what == "nothing") return without_recorder();
  if (what == "small_files") return with_small_files();
  if (what == "ranges") return many_ranges(number);
  if (what == "until_disabled") return until_disabled();
  if (what == "killed") return killed();
  if (what == "_exit") {
    initialize(unit);
    _exit(0);
  }
  if (what == "exec") {
    initialize(unit);
    unit.push("before exec");
    unit.pop();
    execl(argv[0], argv[0], "everything", nullptr);
  }
  return 99;
}
