// SPDX-License-Identifier: Apache-2.0
// Detects LibTorch in the process and loads libdprof_torch.so from this library's folder, if this
// build of LibTorch is known or the recorder's probe says that it can be read: RecordFunction and
// c10d are C++ interfaces whose classes change from release to release. A library for one build
// alone, libdprof_torch-BUILDID.so, takes precedence. If none fits, torch is left alone, and the
// header's facts and remarks say why.
//
// Threading  the helper only, except torch_is_mapped().
// Cost       a read of the loader's counter of added objects if nothing was loaded since.
#pragma once

#include "collector/inject/source.h"

namespace dprof::inject {

// libtorch_cpu is mapped now. For the preload constructor: C++ programs have it from the start.
[[nodiscard]] bool torch_is_mapped() noexcept;

// Loads libdprof_torch.so once torch is mapped and ready, and passes it the detail level.
extern const SourceHooks kTorchHooks;

}  // namespace dprof::inject
