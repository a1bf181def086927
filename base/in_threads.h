// SPDX-License-Identifier: Apache-2.0
// Runs many pieces of work in parallel while the calling thread reports progress.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>

namespace dprof {

// Calls work(i) for each i below `count`, on `threads` threads at once (0: as many as this process
// has cores). Meanwhile calls `report(number of pieces done)` on the caller's thread, up to fifty
// times a second and at the end. Once it returns false, no further piece starts, and the result is
// false.
bool in_threads(size_t count, size_t threads, const std::function<void(size_t)>& work,
                const std::function<bool(size_t)>& report);

// The same on as many threads as this process has cores, the caller's among them; ends when all
// pieces are done.
void in_threads(size_t count, const std::function<void(size_t)>& work);

// Visits each item of a list, in parallel: visit(position) must touch nothing that another visit
// changes.
template <typename Visit>
void for_each_in_threads(size_t items, const Visit& visit) {
  constexpr size_t kAtOnce = 64;  // items per piece: taking a piece costs a lock
  in_threads((items + kAtOnce - 1) / kAtOnce, [&](size_t piece) {
    const size_t end = std::min(items, (piece + 1) * kAtOnce);
    for (size_t i = piece * kAtOnce; i < end; ++i) visit(i);
  });
}

}  // namespace dprof
