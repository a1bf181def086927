// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/torch_gate.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "collector/inject/core_table.h"
#include "collector/inject/environment.h"
#include "collector/inject/session.h"
#include "collector/inject/torch_build.h"
#include "collector/wire/build_id.h"
#include "collector/wire/torch_builds.h"

namespace dprof::inject {
namespace {

// What dl_iterate_phdr shows of torch.
struct Sight {
  bool torch_cpu = false;
  bool torch_python = false;
  bool python = false;  // an interpreter: torch is ready only once libtorch_python is mapped
  unsigned long long objects_added = 0;
  char path[kMaxPath] = {};   // of libtorch_cpu
  char other[kMaxPath] = {};  // of a second one: objects cannot be attributed to either
  char build_id[wire::kBuildIdHex] = {};
};

bool named(const char* path, const char* name) noexcept {
  const char* slash = strrchr(path, '/');
  return strncmp(slash != nullptr ? slash + 1 : path, name, strlen(name)) == 0;
}

void note_torch_cpu(const dl_phdr_info& info, Sight& sight) noexcept {
  if (sight.torch_cpu) {
    snprintf(sight.other, sizeof sight.other, "%s", info.dlpi_name);
    return;
  }
  sight.torch_cpu = true;
  snprintf(sight.path, sizeof sight.path, "%s", info.dlpi_name);
  for (int i = 0; i < info.dlpi_phnum && sight.build_id[0] == '\0'; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    wire::read_build_id(reinterpret_cast<const unsigned char*>(info.dlpi_addr + segment.p_vaddr),
                        segment.p_memsz, sight.build_id, sizeof sight.build_id);
  }
}

int look_at_object(dl_phdr_info* info, size_t, void* data) noexcept {
  Sight& sight = *static_cast<Sight*>(data);
  sight.objects_added = info->dlpi_adds;
  const char* name = info->dlpi_name;
  if (name == nullptr) return 0;
  if (named(name, "libtorch_cpu.so")) note_torch_cpu(*info, sight);
  if (named(name, "libtorch_python.so")) sight.torch_python = true;
  if (named(name, "libpython")) sight.python = true;
  return 0;
}

int look_at_counter(dl_phdr_info* info, size_t, void* data) noexcept {
  *static_cast<unsigned long long*>(data) = info->dlpi_adds;
  return 1;
}

void look(Sight& sight) noexcept {
  dl_iterate_phdr(&look_at_object, &sight);
  char program[kMaxPath];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length > 0) {
    program[length] = '\0';
    if (named(program, "python")) sight.python = true;
  }
}

// Owned by the helper thread.
struct Gate {
  unsigned long long objects_seen = 0;
  uint64_t started_ns = 0;    // start of the search; 0 = not yet
  uint64_t next_call_ns = 0;  // of the entry
  wire::DetailLevel detail = wire::DetailLevel::kStandard;
  TorchEntry entry = nullptr;
  bool known = false;  // exactly this build was measured
  bool asked = false;  // the recorder, whose verdict is still pending
  bool settled = false;
};
constinit Gate gate;

// "2.11.0" from the C function that libtorch exports for this; the build id distinguishes builds of
// that release.
void note_version(void* torch_cpu) noexcept {
  using AbiVersion = uint64_t (*)();
  const auto abi_version = reinterpret_cast<AbiVersion>(dlsym(torch_cpu, "aoti_torch_abi_version"));
  if (abi_version == nullptr) return;
  const uint64_t version = abi_version();
  char text[32];
  snprintf(text, sizeof text, "%u.%u.%u", static_cast<unsigned>(version >> 56),
           static_cast<unsigned>(version >> 48 & 0xff),
           static_cast<unsigned>(version >> 40 & 0xff));
  set_fact(wire::Fact::kTorchVersion, text);
}

int call_entry() noexcept {
  const char* layout = noted_variable(wire::kTorchLayoutVariable);
  return gate.entry(&core_table(), static_cast<uint32_t>(gate.detail), gate.known ? 1 : 0,
                    layout != nullptr ? static_cast<uint32_t>(atoi(layout)) : 0);
}

void refuse(wire::Remark remark, const char* why) noexcept {
  add_remark(remark);
  set_fact(wire::Fact::kTorchSource, why);
}

// A library built for exactly this LibTorch, with its build id in the file name, takes precedence
// over this dprof's. The id consists of hex digits only.
bool find_own_library(const char* build_id, char* path, size_t bytes) noexcept {
  if (build_id[0] == '\0') return false;
  snprintf(path, bytes, "%s/libdprof_torch-%s.so", runtime.own_folder, build_id);
  return access(path, R_OK) == 0;
}

bool is_trusted(const char* build_id) noexcept {
  const char* trust = noted_variable(wire::kTorchTrustVariable);
  if (trust != nullptr && strcmp(trust, "none") == 0) return false;
  if (trust != nullptr && strcmp(trust, "all") == 0) return true;
  return build_id[0] != '\0' &&
         (wire::is_known_torch(build_id) || strcmp(build_id, kTorchBuildId) == 0);
}

void start_library(const char* path) noexcept {
  char text[kMaxPath + 512];
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    snprintf(text, sizeof text, "off: %s", why != nullptr ? why : path);
    refuse(wire::Remark::kTorchLibraryMissing, text);
    return;
  }
  gate.entry = reinterpret_cast<TorchEntry>(dlsym(library, kTorchEntry));
  const int failed = gate.entry != nullptr ? call_entry() : -1;
  if (failed != 0) {
    gate.entry = nullptr;
    snprintf(text, sizeof text, "off: %s could not start (%d)", path, failed);
    refuse(wire::Remark::kTorchLibraryMissing, text);
    return;
  }
  set_fact(wire::Fact::kTorchSource, "on");
}

void load(const Sight& sight) noexcept {
  set_fact(wire::Fact::kTorchBuildId, sight.build_id[0] != '\0' ? sight.build_id : "none");
  if (sight.other[0] != '\0') {
    static char why[2 * kMaxPath + 64];
    snprintf(why, sizeof why, "off: two LibTorch in one process: %s and %s", sight.path,
             sight.other);
    return refuse(wire::Remark::kTorchVersionMismatch, why);
  }
  // Through dlopen, which waits until torch's static constructors are done.
  void* torch_cpu = dlopen(sight.path, RTLD_NOW | RTLD_NOLOAD);
  if (torch_cpu != nullptr) note_version(torch_cpu);
  char path[kMaxPath + 256];
  const bool own = find_own_library(sight.build_id, path, sizeof path);
  gate.known = own || is_trusted(sight.build_id);
  if (!own) snprintf(path, sizeof path, "%s/libdprof_torch.so", runtime.own_folder);
  if (!own && kTorchBuildId[0] == '\0' && access(path, R_OK) != 0) {
    refuse(wire::Remark::kTorchLibraryMissing, "off: this dprof was built without LibTorch");
  } else if (gate.known) {
    start_library(path);
  } else {
    gate.asked = true;
    set_fact(wire::Fact::kTorchSource,
             "off: this build of LibTorch is not known, and whether it can be read is not yet "
             "answered");
    set_fact(wire::Fact::kTorchPath, sight.path);
  }
}

// Checks whether the recorder's probe has answered.
void hear_verdict() noexcept {
  wire::ControlPage& control = *runtime.mapping.control();
  const auto verdict =
      static_cast<wire::TorchVerdict>(control.torch_verdict.load(std::memory_order_acquire));
  if (verdict == wire::TorchVerdict::kNone) return;
  gate.asked = false;
  if (verdict == wire::TorchVerdict::kFits) {
    char path[kMaxPath + 256];
    snprintf(path, sizeof path, "%s/libdprof_torch.so", runtime.own_folder);
    return start_library(path);
  }
  char text[wire::kVerdictBytes + 8];
  snprintf(text, sizeof text, "off: %.*s", static_cast<int>(wire::kVerdictBytes),
           control.torch_sentence);
  refuse(wire::Remark::kTorchVersionMismatch, text);
}

}  // namespace

bool torch_is_mapped() noexcept {
  // Without Sight's buffers: this runs in the constructor of every preloaded process.
  bool found = false;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) noexcept {
        if (info->dlpi_name == nullptr || !named(info->dlpi_name, "libtorch_cpu.so")) return 0;
        *static_cast<bool*>(data) = true;
        return 1;
      },
      &found);
  return found;
}

namespace {

// True if no further search is needed soon: torch is loaded, or never will be.
bool look_for_torch() noexcept {
  if (gate.settled) return true;
  unsigned long long objects_added = 0;
  dl_iterate_phdr(&look_at_counter, &objects_added);
  if (objects_added == gate.objects_seen) return false;
  gate.objects_seen = objects_added;
  static Sight sight;  // 4 KiB: not on a small stack
  sight = Sight{};
  look(sight);
  if (!sight.torch_cpu || (sight.python && !sight.torch_python)) return false;
  load(sight);
  gate.settled = true;
  return true;
}

constexpr uint64_t kEagerNs = 3'000'000;             // while a torch is expected
constexpr uint64_t kExpectedNs = 60'000'000'000ULL;  // afterwards it is looked for less often

uint64_t watch_for_torch(uint64_t now_ns) noexcept {
  if (gate.started_ns == 0) gate.started_ns = now_ns;
  const bool settled = look_for_torch();
  if (gate.asked) hear_verdict();
  if (gate.entry != nullptr && now_ns >= gate.next_call_ns) {
    gate.next_call_ns = now_ns + kNoHurry;
    call_entry();
  }
  return !settled && now_ns - gate.started_ns < kExpectedNs ? kEagerNs : kNoHurry;
}

void apply(uint32_t, wire::DetailLevel detail) noexcept {
  gate.detail = detail;
  if (gate.entry != nullptr) call_entry();
}

}  // namespace

constinit const SourceHooks kTorchHooks = {&apply, &watch_for_torch, nullptr, nullptr, nullptr};

}  // namespace dprof::inject
