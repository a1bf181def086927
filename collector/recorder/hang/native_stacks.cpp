// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/hang/native_stacks.h"

#ifdef DPROF_HAVE_DW

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#include <cstring>
#include <fstream>
#include <memory>

#include "base/symbol.h"

#endif

namespace dprof::recorder {

#ifdef DPROF_HAVE_DW

namespace {

constexpr size_t kMostFrames = 64;
constexpr size_t kMostThreads = 256;

// Separate debug information is not searched for: that could access the network.
int find_no_debug_info(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*,
                       GElf_Word, char**) {
  return -1;
}

const Dwfl_Callbacks kCallbacks = {.find_elf = &dwfl_linux_proc_find_elf,
                                   .find_debuginfo = &find_no_debug_info,
                                   .section_address = nullptr,
                                   .debuginfo_path = nullptr};

StackEntry entry_at(Dwfl* process, Dwarf_Addr address) {
  StackEntry entry;
  Dwfl_Module* module = dwfl_addrmodule(process, address);
  if (module != nullptr) {
    if (const char* symbol = dwfl_module_addrname(module, address))
      entry.function = demangled(symbol);
    Dwfl_Line* line = dwfl_module_getsrc(module, address);
    int number = 0;
    const char* source = line != nullptr
                             ? dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr)
                             : nullptr;
    if (source != nullptr) {
      entry.file = source;
      entry.line = number;
    } else if (const char* name = dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr,
                                                   nullptr, nullptr, nullptr)) {
      entry.file = name;
    }
  }
  if (entry.function.empty()) entry.function = fmt::format("{:#x}", address);
  return entry;
}

uint64_t pthread_of([[maybe_unused]] pid_t tid) {
#ifdef __x86_64__
  user_regs_struct registers{};
  if (ptrace(PTRACE_GETREGS, tid, nullptr, &registers) == 0) return registers.fs_base;
#endif
  return 0;
}

std::string name_of(int pid, pid_t tid) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/comm", pid, tid));
  std::string name;
  std::getline(file, name);
  return name;
}

struct Walk {
  int pid;
  Dwfl* process;
  const std::function<void(const ThreadStack&)>& deliver;
  size_t threads = 0;
  std::string problem;
};

struct Addresses {
  pid_t tid;
  uint64_t pthread = 0;
  std::vector<Dwarf_Addr> all;
};

// The thread is stopped while this is called.
int on_frame(Dwfl_Frame* frame, void* data) {
  Addresses& addresses = *static_cast<Addresses*>(data);
  if (addresses.all.empty()) addresses.pthread = pthread_of(addresses.tid);
  Dwarf_Addr address = 0;
  bool is_activation = false;
  if (!dwfl_frame_pc(frame, &address, &is_activation)) return DWARF_CB_ABORT;
  // A return address may be that of the next line, or function.
  addresses.all.push_back(is_activation || address == 0 ? address : address - 1);
  return addresses.all.size() < kMostFrames ? DWARF_CB_OK : DWARF_CB_ABORT;
}

int on_thread(Dwfl_Thread* thread, void* data) {
  Walk& walk = *static_cast<Walk*>(data);
  Addresses addresses{.tid = dwfl_thread_tid(thread), .all = {}};
  const int walked = dwfl_thread_getframes(thread, &on_frame, &addresses);
  if (walked < 0 && addresses.all.empty()) {
    // A thread that ended meanwhile is no problem.
    const char* why = dwfl_errmsg(-1);
    if (walk.problem.empty()) walk.problem = why != nullptr ? why : "its frames cannot be walked";
    return DWARF_CB_OK;
  }
  // It runs again: names are looked up afterwards.
  ThreadStack stack{.os_tid = addresses.tid,
                    .name = name_of(walk.pid, addresses.tid),
                    .pthread = addresses.pthread,
                    .frames = {}};
  for (const Dwarf_Addr address : addresses.all)
    stack.frames.push_back(entry_at(walk.process, address));
  walk.deliver(stack);
  return ++walk.threads < kMostThreads ? DWARF_CB_OK : DWARF_CB_ABORT;
}

}  // namespace

std::string take_native_stacks(int pid, const std::function<void(const ThreadStack&)>& deliver) {
  const std::unique_ptr<Dwfl, decltype(&dwfl_end)> process(dwfl_begin(&kCallbacks), &dwfl_end);
  if (!process) return dwfl_errmsg(-1);
  if (const int error = dwfl_linux_proc_report(process.get(), pid); error != 0)
    return error > 0 ? std::strerror(error) : dwfl_errmsg(-1);
  dwfl_report_end(process.get(), nullptr, nullptr);
  if (const int error = dwfl_linux_proc_attach(process.get(), pid, false); error != 0)
    return error > 0 ? std::strerror(error) : dwfl_errmsg(-1);
  Walk walk{pid, process.get(), deliver, 0, {}};
  dwfl_getthreads(process.get(), &on_thread, &walk);
  return walk.threads == 0 && walk.problem.empty() ? "it has no thread any more" : walk.problem;
}

#else

std::string take_native_stacks(int, const std::function<void(const ThreadStack&)>&) {
  return "this dprof was built without libdw";
}

#endif

}  // namespace dprof::recorder
