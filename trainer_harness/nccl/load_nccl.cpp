// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <filesystem>
#include <stdexcept>

#include "trainer_harness/nccl/nccl_module.h"

namespace dprof::trainer_harness {
namespace {

const NcclModule* open_module() {
  // The module is in lib/ beside bin/dprof-trainer, as in a build folder.
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  const std::filesystem::path file = program.parent_path().parent_path() / "lib" / kNcclModuleFile;
  if (!std::filesystem::exists(file)) {
    throw std::runtime_error(file.string() +
                             " is not there: this dprof-trainer was built without NCCL\n"
                             "hint: build with -DDPROF_WITH_NCCL=ON, or use --backend gloo");
  }
  void* module = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (module == nullptr) {
    const char* why = dlerror();
    throw std::runtime_error(std::string("NCCL cannot be loaded: ") +
                             (why ? why : "no reason given") +
                             "\nhint: scripts/setup --python installs the CUDA libraries");
  }
  const auto* table = static_cast<const NcclModule*>(dlsym(module, kNcclModuleSymbol));
  if (table == nullptr) {
    throw std::runtime_error(file.string() + " belongs to another build\nhint: build again");
  }
  return table;
}

}  // namespace

const NcclModule& load_nccl() {
  static const NcclModule* const module = open_module();
  return *module;
}

}  // namespace dprof::trainer_harness
