// SPDX-License-Identifier: Apache-2.0
// Allocations of torch's CPU allocator, at full detail only: an allocator that passes everything on
// to the one that was there, so that addresses, alignment and results stay what they were.
//
// Threading  install() by the helper; torch reads the allocator's address without a lock, and so it
//            is replaced by one store. It is never taken out: it writes nothing when full is off.
// Cost       HOT PATH. Budget: 200 ns per allocation with its free, over torch's own.
#pragma once

namespace dprof::inject::torch_source {

// Once full detail is asked for. False when the program has an allocator that cannot be wrapped, or
// one that goes before ours.
bool install_host_memory();

}  // namespace dprof::inject::torch_source
