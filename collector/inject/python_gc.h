// SPDX-License-Identifier: Apache-2.0
// Python's garbage collections, as ranges "gc.collect generation N" (category python) of the thread
// on which they ran; the value is the number of objects collected. Uses gc.callbacks, Python's
// interface for this: the program's own callbacks stay, before and after ours. A program that
// clears the list ends it.
//
// Cost  two records for each collection, and two calls made by Python: about 1 µs, where the
//       youngest generation alone takes 10 µs and more.
#pragma once

namespace dprof::inject {

// False with `--python gc=off`.
[[nodiscard]] bool collections_are_wanted() noexcept;

// On Python's main thread, which holds the interpreter's lock.
void watch_collections() noexcept;

}  // namespace dprof::inject
