// SPDX-License-Identifier: Apache-2.0
// Python's collections of garbage, as ranges "gc.collect generation N" (category python) of the
// thread on which they ran; the value is the number of objects that went. By gc.callbacks, which
// Python keeps for this: the program's own callbacks stay, before and after ours. A program that
// clears the list ends it.
//
// Cost  two records for each collection, beside two calls that Python makes: about 1 µs, where the
//       youngest generation alone takes 10 µs and more.
#pragma once

namespace dprof::inject {

// Not with `--python gc=off`.
[[nodiscard]] bool collections_are_wanted() noexcept;

// On Python's main thread, which holds the interpreter's lock.
void watch_collections() noexcept;

}  // namespace dprof::inject
