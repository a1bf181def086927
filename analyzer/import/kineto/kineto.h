// SPDX-License-Identifier: Apache-2.0
// Chrome JSON, as Kineto (PyTorch's profiler) and many other tools write it.
#pragma once

#include "analyzer/import/format.h"

namespace dprof::analyzer::kineto {

// Any JSON object or array: it comes last in the registry. A file that has no events is refused
// (kNotATrace). Its traces are of format `kineto` where the file shows its marks, else `chrome`.
extern const Format kFormat;

}  // namespace dprof::analyzer::kineto
