// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/nccl/nccl_version.h"

#include <dlfcn.h>

#include <cstdio>

namespace dprof::inject::nccl {
namespace {

using GetVersion = int (*)(int*);

int ask(void* scope) noexcept {
  const auto get_version = reinterpret_cast<GetVersion>(dlsym(scope, "ncclGetVersion"));
  int version = kNotKnown;
  return get_version != nullptr && get_version(&version) == 0 && version > 0 ? version : kNotKnown;
}

int ask_library(const char* name) noexcept {
  void* library = dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  if (library == nullptr) return kNotKnown;
  const int version = ask(library);
  dlclose(library);
  return version;
}

}  // namespace

int version_of(const void* address) noexcept {
  Dl_info info{};
  if (address != nullptr && dladdr(address, &info) != 0 && info.dli_fname != nullptr) {
    if (const int version = ask_library(info.dli_fname); version != kNotKnown) return version;
    // Linked into the program itself.
    if (const int version = ask(RTLD_DEFAULT); version != kNotKnown) return version;
  }
  // Python loads libnccl from where a search by name alone does not look.
  return ask_library("libnccl.so.2");
}

void version_text(int version, char (&text)[kVersionBytes]) noexcept {
  snprintf(text, sizeof text, "%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace dprof::inject::nccl
