// SPDX-License-Identifier: Apache-2.0
// Notices LibTorch in the process and loads libdprof_torch.so beside this library, if this build of
// LibTorch is known, or the recorder's probe says that it can be read: RecordFunction and c10d are
// C++ interfaces whose classes change from release to release. A library for one build alone,
// libdprof_torch-BUILDID.so, comes first. Where none fits it leaves torch alone and says why in the
// header's facts and remarks.
//
// Threading  the helper only, but for torch_is_mapped().
// Cost       a look at the loader's counter of added objects when nothing was loaded since.
#pragma once

#include "collector/inject/source.h"

namespace dprof::inject {

// libtorch_cpu is mapped now. For the preload constructor: C++ programs have it from the start.
[[nodiscard]] bool torch_is_mapped() noexcept;

// Loads libdprof_torch.so when torch is there and ready, and tells it the detail level.
extern const SourceHooks kTorchHooks;

}  // namespace dprof::inject
