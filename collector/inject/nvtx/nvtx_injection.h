// SPDX-License-Identifier: Apache-2.0
// The two entry points that NVTX's header code calls, once per linkage unit of the process
// (program, libnccl, libtorch, …), and the callbacks behind them.
//
// Threading  several units can call at once; filling a unit's table touches that unit only.
#pragma once

#include "collector/inject/nvtx/nvtx_abi.h"

namespace dprof::inject::nvtx {

// Fills a unit's tables. 1 while recording, or about to; 0 makes NVTX a no-op for that unit.
int initialize(GetExportTable get_export_table) noexcept;
int initialize_extension(ExtensionModule* module) noexcept;

}  // namespace dprof::inject::nvtx
