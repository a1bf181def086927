// SPDX-License-Identifier: Apache-2.0
// The part of CUDA's driver that launch_probe uses, found at run time: no toolkit is needed to
// build it. fake_cuda.cpp has the same functions without a GPU.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dprof::gpu {

using CudaResult = int;
inline constexpr CudaResult kCudaSuccess = 0;

struct CudaDriver {
  CudaResult (*init)(unsigned flags);
  CudaResult (*version)(int* version);
  CudaResult (*device_count)(int* count);
  CudaResult (*device)(int* device, int ordinal);
  CudaResult (*retain_context)(void** context, int device);
  CudaResult (*set_context)(void* context);
  CudaResult (*load_module)(void** module, const void* image);
  CudaResult (*get_function)(void** function, void* module, const char* name);
  CudaResult (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                       void* stream, void** parameters, void** extra);
  CudaResult (*make_stream)(void** stream, unsigned flags);
  CudaResult (*wait_for_stream)(void* stream);
  CudaResult (*wait_for_context)();
  CudaResult (*make_event)(void** event, unsigned flags);
  CudaResult (*record_event)(void* event, void* stream);
  CudaResult (*query_event)(void* event);
  CudaResult (*stream_wait_event)(void* stream, void* event, unsigned flags);
  CudaResult (*allocate)(uint64_t* address, size_t bytes);
  CudaResult (*copy_to_device)(uint64_t to, const void* from, size_t bytes, void* stream);
  CudaResult (*begin_capture)(void* stream, int mode);
  CudaResult (*end_capture)(void* stream, void** graph);
  CudaResult (*instantiate)(void** executable, void* graph, unsigned long long flags);  // NOLINT
  CudaResult (*launch_graph)(void* executable, void* stream);
  CudaResult (*destroy_executable)(void* executable);
};

// Calls `use(name, pointer)` for each function with the name that libcuda.so.1 exports it by.
template <typename Use>
void for_each_function(CudaDriver& cuda, Use&& use) {
  use("cuInit", cuda.init);
  use("cuDriverGetVersion", cuda.version);
  use("cuDeviceGetCount", cuda.device_count);
  use("cuDeviceGet", cuda.device);
  use("cuDevicePrimaryCtxRetain", cuda.retain_context);
  use("cuCtxSetCurrent", cuda.set_context);
  use("cuModuleLoadData", cuda.load_module);
  use("cuModuleGetFunction", cuda.get_function);
  use("cuLaunchKernel", cuda.launch);
  use("cuStreamCreate", cuda.make_stream);
  use("cuStreamSynchronize", cuda.wait_for_stream);
  use("cuCtxSynchronize", cuda.wait_for_context);
  use("cuEventCreate", cuda.make_event);
  use("cuEventRecord", cuda.record_event);
  use("cuEventQuery", cuda.query_event);
  use("cuStreamWaitEvent", cuda.stream_wait_event);
  use("cuMemAlloc_v2", cuda.allocate);
  use("cuMemcpyHtoDAsync_v2", cuda.copy_to_device);
  use("cuStreamBeginCapture_v2", cuda.begin_capture);
  use("cuStreamEndCapture", cuda.end_capture);
  use("cuGraphInstantiateWithFlags", cuda.instantiate);
  use("cuGraphLaunch", cuda.launch_graph);
  use("cuGraphExecDestroy", cuda.destroy_executable);
}

}  // namespace dprof::gpu
