// SPDX-License-Identifier: Apache-2.0
// Stands in for the libdprof_torch of another LibTorch: libdprof_torch-1234abcd.so.
#include "collector/inject/core_api.h"
#include "collector/inject/export.h"

DPROF_EXPORT int dprof_torch_start(const dprof::inject::CoreApi* core, uint32_t, uint32_t,
                                   uint32_t) noexcept {
  core->set_fact(dprof::wire::Fact::kMemorySource, "the other one");
  return 0;
}
