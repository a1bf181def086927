// SPDX-License-Identifier: Apache-2.0
// Lets the real libnccl find and drive the plugin on a machine without a GPU, as far as possible:
// its search for the file of NCCL_PROFILER_PLUGIN, its look-up of the tables, and its own adapters
// from the events of version 5 to those of 4 and 3. These are internal functions of NCCL, found by
// name in the file's symbol table.
//
//   nccl_real LIBNCCL    exit code 77: its symbols have been stripped
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>
#include <string_view>

#include "collector/inject/test_support/nccl_host.h"

namespace {

using namespace dprof::inject::nccl;

constexpr int kNoSymbols = 77;

// The functions of a mapped ELF file with the given names, exported or not.
class SymbolFile {
 public:
  explicit SymbolFile(const char* path) {
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    struct stat about {};
    if (file < 0 || fstat(file, &about) != 0) return;
    void* base = mmap(nullptr, static_cast<size_t>(about.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    ::close(file);
    if (base != MAP_FAILED) base_ = static_cast<const char*>(base);
  }
  [[nodiscard]] uintptr_t value_of(std::string_view name) const {
    if (base_ == nullptr) return 0;
    const auto& header = *reinterpret_cast<const ElfW(Ehdr)*>(base_);
    const auto* sections = reinterpret_cast<const ElfW(Shdr)*>(base_ + header.e_shoff);
    for (int i = 0; i < header.e_shnum; ++i) {
      if (sections[i].sh_type != SHT_SYMTAB) continue;
      const auto* symbols = reinterpret_cast<const ElfW(Sym)*>(base_ + sections[i].sh_offset);
      const char* names = base_ + sections[sections[i].sh_link].sh_offset;
      for (size_t at = 0; at < sections[i].sh_size / sizeof(ElfW(Sym)); ++at) {
        if (name == names + symbols[at].st_name) return symbols[at].st_value;
      }
    }
    return 0;
  }

 private:
  const char* base_ = nullptr;
};

struct Nccl {
  void* (*open_plugin)(const char* name);
  const ProfilerV5* (*find[3])(void* plugin);  // versions 5, 4, 3
};

bool find_functions(const char* path, void* library, Nccl& nccl) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0) return false;
  const SymbolFile file(path);
  const auto address = [&](const char* name) -> uintptr_t {
    const uintptr_t value = file.value_of(name);
    return value != 0 ? map->l_addr + value : 0;
  };
  const uintptr_t open = address("_Z25ncclOpenProfilerPluginLibPKc");
  const uintptr_t find[3] = {address("_Z18getNcclProfiler_v5Pv"),
                             address("_Z18getNcclProfiler_v4Pv"),
                             address("_Z18getNcclProfiler_v3Pv")};
  nccl.open_plugin = reinterpret_cast<void* (*)(const char*)>(open);
  for (int i = 0; i < 3; ++i) {
    if (find[i] == 0) return false;
    nccl.find[i] = reinterpret_cast<const ProfilerV5* (*)(void*)>(find[i]);
  }
  return open != 0;
}

}  // namespace

int main(int argc, char** argv) {
  void* library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (library == nullptr) {
    fprintf(stderr, "nccl_real: %s\n", dlerror());
    return 98;
  }
  int version = 0;
  const auto get_version = reinterpret_cast<int (*)(int*)>(dlsym(library, "ncclGetVersion"));
  expect(get_version != nullptr && get_version(&version) == 0, "ncclGetVersion");
  printf("%d\n", version);
  fflush(stdout);
  driven_by_nccl = true;
  Nccl nccl{};
  if (!find_functions(argv[1], library, nccl)) return kNoSymbols;
  void* plugin = nccl.open_plugin(getenv("NCCL_PROFILER_PLUGIN"));
  expect(plugin != nullptr, "NCCL does not find the plugin");
  if (plugin == nullptr) return 1;
  for (int i = 0; i < 3; ++i) {
    const ProfilerV5* profiler = nccl.find[i](plugin);
    expect(profiler != nullptr, "NCCL does not find a table");
    if (profiler == nullptr) return 1;
    Comm<ProfilerV5, EventV5> comm(*profiler, kHash + static_cast<uint64_t>(i), "real");
    expect(soon_masked(kUsualMask), "never switched on");
    comm.all_reduce(0);
    comm.transfer("Send", 2);
    comm.transfer("Send", 2);
  }
  meet_test();
  return wrong == 0 ? 0 : 1;
}
