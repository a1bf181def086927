// SPDX-License-Identifier: Apache-2.0
// Runs many pieces of work in parallel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>

namespace dprof {

// Calls work(i) for each i below `count`, on `threads` threads at once (0: as many as this process
// has cores), the caller's among them; returns when all are done. If the system refuses a thread,
// fewer do the work. After an exception of work() no further piece starts, and it is thrown here.
void in_threads(size_t count, size_t threads, const std::function<void(size_t)>& work);

// The same, while the caller's thread calls `report(number of pieces done)`, as pieces end, fifty
// times a second at least, and at the end. Once it returns false, no further piece starts, and the
// result is false.
bool in_threads(size_t count, size_t threads, const std::function<void(size_t)>& work,
                const std::function<bool(size_t)>& report);

// Visits each item of a list, on all cores: visit(position) must touch nothing that another visit
// changes.
template <typename Visit>
void for_each_in_threads(size_t items, const Visit& visit) {
  constexpr size_t kAtOnce = 64;  // items per piece: ending a piece costs a lock
  in_threads((items + kAtOnce - 1) / kAtOnce, 0, [&](size_t piece) {
    const size_t end = std::min(items, (piece + 1) * kAtOnce);
    for (size_t i = piece * kAtOnce; i < end; ++i) visit(i);
  });
}

}  // namespace dprof
