// SPDX-License-Identifier: Apache-2.0
// Allocations of torch's CPU allocator, at full detail only: a wrapper that forwards everything to
// the previous allocator, so addresses, alignment and results do not change.
//
// Threading  install() by the helper; torch reads the allocator's address without a lock, so it is
//            replaced by one store. It is never removed: it writes nothing when full is off.
// Cost       HOT PATH. Budget: 200 ns per allocation with its free, over torch's own.
#pragma once

namespace dprof::inject::torch_source {

// Once full detail is requested. False if the program has an allocator that cannot be wrapped, or
// one with precedence over ours.
bool install_host_memory();

}  // namespace dprof::inject::torch_source
