// SPDX-License-Identifier: Apache-2.0
// A light process of the soak that keeps an account of what each of its threads wrote. It reaches
// libdprof.so as every NVTX program does, and forks, execs, loads libraries, starts storms of
// threads and floods its ring at random.
//
//   soak_probe SEED SERIAL FOLDER [--steady]
//
// FOLDER/account-SERIAL is an Account and outlives the process, however that ends. FOLDER/stop ends
// it. SERIAL is its rank; after an exec the same process goes on as rank SERIAL + 100000.
//   --steady   neither execs nor ends by itself: its memory can be watched
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "collector/inject/test_support/nvtx_unit.h"

namespace {

using namespace dprof::inject;
using std::chrono::milliseconds;

constexpr uint64_t kMostThreads = 65536;
constexpr int kExecStep = 100'000;
constexpr int kMostExecs = 5;
constexpr int kFlood = 60'000;          // records: several rings full
constexpr uint64_t kLargestStorm = 40;  // threads

struct ThreadAccount {
  std::atomic<uint64_t> os_tid, produced;
};
struct Account {
  std::atomic<uint64_t> taken;  // 0 = not tried yet, 1 = NVTX is recorded here, 2 = it is not
  std::atomic<uint64_t> threads;
  ThreadAccount thread[kMostThreads];
};

NvtxUnit unit;
Account* account;

bool initialize() {
  const char* path = getenv("NVTX_INJECTION64_PATH");
  void* library = path != nullptr ? dlopen(path, RTLD_LAZY) : nullptr;
  if (library == nullptr) return false;
  const auto core = reinterpret_cast<InitializeNvtx>(dlsym(library, "InitializeInjectionNvtx2"));
  const auto extension =
      reinterpret_cast<InitializeExtension>(dlsym(library, "InitializeInjectionNvtxExtension"));
  return core != nullptr && extension != nullptr && unit.initialize(core, extension);
}

Account* open_account(const std::string& file) {
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(Account)) != 0) return nullptr;
  void* page = mmap(nullptr, sizeof(Account), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return page == MAP_FAILED ? nullptr : static_cast<Account*>(page);
}

ThreadAccount& own_account() {
  const uint64_t place = account->threads.fetch_add(1);
  if (place >= kMostThreads) abort();
  account->thread[place].os_tid.store(static_cast<uint64_t>(gettid()));
  return account->thread[place];
}

// Marks and ranges by turns; each is one record of the account once its call has returned.
void write_records(int count) {
  thread_local ThreadAccount& mine = own_account();
  for (int i = 0; i < count; ++i) {
    if (i % 2 == 0) {
      unit.core<void>(nvtx::kMarkA, "mark");
    } else {
      unit.push("work");
      unit.pop();
    }
    mine.produced.fetch_add(1, std::memory_order_release);
  }
}

void storm(uint64_t size) {
  std::vector<std::thread> threads;
  for (uint64_t i = size; i > 0; --i) threads.emplace_back([] { write_records(20); });
  for (std::thread& thread : threads) thread.join();
}

// A fork child records nothing: what it writes is in no account and must be in no trace.
void fork_one() {
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 50; ++i) unit.push("child");
    _exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) abort();
}

void load_and_unload(std::mt19937_64& random) {
  constexpr const char* kLibraries[] = {"libresolv.so.2", "libnss_files.so.2", "libanl.so.1"};
  const char* again = getenv("NVTX_INJECTION64_PATH");
  for (const char* name : {kLibraries[random() % 3], again}) {
    void* library = dlopen(name, RTLD_LAZY);
    if (library != nullptr) dlclose(library);
  }
}

void run_again(char** argv, int serial) {
  const std::string next = std::to_string(serial + kExecStep);
  setenv("RANK", next.c_str(), 1);
  setenv("LOCAL_RANK", next.c_str(), 1);
  execl("/proc/self/exe", argv[0], argv[1], next.c_str(), argv[3], nullptr);
  abort();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const int serial = atoi(argv[2]);
  const std::string folder = argv[3];
  const bool steady = argc > 4;
  std::mt19937_64 random(strtoull(argv[1], nullptr, 10) * 1'000'003 +
                         static_cast<uint64_t>(serial));
  account = open_account(folder + "/account-" + argv[2]);
  if (account == nullptr) return 3;
  account->taken.store(initialize() ? 1 : 2);
  const std::string stop = folder + "/stop";
  if (steady) storm(kLargestStorm);  // so that its memory has its final size
  while (access(stop.c_str(), F_OK) != 0) {
    write_records(10 + static_cast<int>(random() % 20));
    std::this_thread::sleep_for(milliseconds(100 + random() % 400));
    const uint64_t what = random() % 1000;
    if (what < 20) {
      storm(1 + random() % kLargestStorm);
    } else if (what < 40) {
      fork_one();
    } else if (what < 60) {
      load_and_unload(random);
    } else if (what < 61) {
      write_records(kFlood);
    } else if (what < 71 && !steady && serial / kExecStep < kMostExecs) {
      run_again(argv, serial);
    } else if (what < 80 && !steady) {
      break;
    } else if (what < 83 && !steady) {
      _exit(0);
    }
  }
  return 0;
}
