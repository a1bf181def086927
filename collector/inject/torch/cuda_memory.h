// SPDX-License-Identifier: Apache-2.0
// CUDA's caching allocator: its trace from standard detail on, and its statistics at each step.
// libc10_cuda is not linked, because processes without it load this library as well. If it is
// mapped, its allocator is found through the loader, and called through the virtual function slots
// in the headers of exactly this build.
//
// Threading  look_for_cuda() by the helper. The allocator cannot be queried safely while a thread
//            sets it up, so the trace is attached by a training thread that handles a CUDA tensor,
//            whose allocator must already exist. It cannot be detached; it returns early when off.
// Cost       one relaxed load per op until it is attached.
#pragma once

#include <ATen/record_function.h>

#include <atomic>

namespace dprof::inject::torch_source {

// There is an allocator: attach at the first CUDA tensor.
extern constinit std::atomic<bool> cuda_memory_waits;
// It is in use: training threads can query its statistics.
extern constinit std::atomic<bool> cuda_memory_ready;

// kUnknown: this build of torch is not a known one.
enum class CudaMemory : uint8_t { kNotBuilt, kUnknown, kAbsent, kIdle, kAttached, kRefused };

// Each 100 ms, and when the detail changes. `standard`: the trace is wanted, not only the samples.
CudaMemory look_for_cuda(bool standard);

// While cuda_memory_waits: attaches if an input of the op is on a CUDA device.
void attach_cuda_memory(const at::RecordFunction& function) noexcept;

// While cuda_memory_ready: the statistics of the thread's device, if the range ends a step.
void sample_cuda_memory(const char* range) noexcept;

}  // namespace dprof::inject::torch_source
