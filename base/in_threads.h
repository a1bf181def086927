// SPDX-License-Identifier: Apache-2.0
// Runs many pieces of work in parallel while the calling thread reports progress.
#pragma once

#include <cstddef>
#include <functional>

namespace dprof {

// Calls work(i) for each i below `count`, on `threads` threads at once (0: as many as this process
// has cores). Meanwhile calls `report(number of pieces done)` on the caller's thread, up to fifty
// times a second and at the end. Once it returns false, no further piece starts, and the result is
// false.
bool in_threads(size_t count, size_t threads, const std::function<void(size_t)>& work,
                const std::function<bool(size_t)>& report);

}  // namespace dprof
