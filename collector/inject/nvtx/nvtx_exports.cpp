// SPDX-License-Identifier: Apache-2.0
// The functions that NVTX looks up in the file of NVTX_INJECTION64_PATH.
#include "collector/inject/export.h"
#include "collector/inject/nvtx/nvtx_injection.h"

using dprof::inject::nvtx::ExtensionModule;
using dprof::inject::nvtx::GetExportTable;

DPROF_EXPORT int InitializeInjectionNvtx2(GetExportTable get_export_table) noexcept {
  return dprof::inject::nvtx::initialize(get_export_table);
}

DPROF_EXPORT int InitializeInjectionNvtxExtension(ExtensionModule* module) noexcept {
  return dprof::inject::nvtx::initialize_extension(module);
}
