// SPDX-License-Identifier: Apache-2.0
// Does many pieces of work at once, while one thread looks after them.
#pragma once

#include <cstddef>
#include <functional>

namespace dprof {

// Calls work(i) for each i below `count`, on `threads` threads at once (0: as many as this process
// may use cores). Meanwhile `tell(how many are done)` is called on the caller's thread, up to fifty
// times a second and at the end. Once it says false no further piece begins, and the result is
// false.
bool in_threads(size_t count, size_t threads, const std::function<void(size_t)>& work,
                const std::function<bool(size_t)>& tell);

}  // namespace dprof
