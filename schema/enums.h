// SPDX-License-Identifier: Apache-2.0
// The enumerations of the trace. Numbers are part of the file format: never change one, only add.
// The words come from enum_words() in `generated/rows.h` and the public `NAME_text` views.
#pragma once

#include <array>

#include "schema/declaration.h"

namespace dprof::schema {

inline constexpr EnumValue kThreadRoleValues[] = {
    {0, "other", "Nothing more is known."},
    {1, "main", "The process's first thread, or the one that runs the training loop."},
    {2, "autograd", "Runs backward, and is not the main thread."},
    {3, "loader", "Loads data."},
    {4, "communication", "Runs collectives (Gloo's workers)."},
};

inline constexpr EnumValue kRangeCategoryValues[] = {
    {0, "op", "An operator of PyTorch (RecordFunction scope FUNCTION)."},
    {1, "user", "A range that PyTorch or the program marked with record_function (USER_SCOPE)."},
    {2, "autograd", "A node of the autograd graph (BACKWARD_FUNCTION)."},
    {3, "nvtx", "An NVTX push/pop range; it nests on its thread."},
    {4, "nvtx_process",
     "An NVTX start/end range; it may overlap others and end on another thread."},
    {5, "nvtx_mark", "An NVTX mark: a moment, duration 0."},
    {6, "api", "A call of the CUDA driver or runtime."},
    {7, "overhead", "What CUPTI itself was busy with."},
    {8, "python", "A Python function of an imported trace; a garbage collection of Python."},
};

inline constexpr EnumValue kGpuActivityKindValues[] = {
    {0, "kernel", "A kernel."},
    {1, "memcpy_h2d", "A copy from host to device."},
    {2, "memcpy_d2h", "A copy from device to host."},
    {3, "memcpy_d2d", "A copy on or between devices."},
    {4, "memset", "A memory fill."},
    {5, "sync", "A synchronisation as the device saw it."},
    {6, "graph", "A whole CUDA graph launch."},
};

inline constexpr EnumValue kBackendValues[] = {
    {0, "unknown", "Not known."},     {1, "gloo", "Gloo, on CPU threads."},
    {2, "nccl", "NCCL, on a GPU."},   {3, "mpi", "MPI."},
    {4, "other", "Another backend."},
};

inline constexpr EnumValue kFunctionValues[] = {
    {0, "unknown", "Not known."},
    {1, "all_reduce", "Every rank gets the reduction of all."},
    {2, "reduce_scatter", "Every rank gets its share of the reduction."},
    {3, "all_gather", "Every rank gets the parts of all."},
    {4, "broadcast", "Every rank gets the root's data."},
    {5, "reduce", "The root gets the reduction."},
    {6, "gather", "The root gets the parts of all."},
    {7, "scatter", "Every rank gets its part of the root's data."},
    {8, "all_to_all", "Every rank sends a part to every other."},
    {9, "barrier", "Nothing is moved; all meet."},
    {10, "send", "To one peer."},
    {11, "recv", "From one peer."},
};

inline constexpr EnumValue kDataTypeValues[] = {
    {0, "unknown", "Not known."},    {1, "uint8", "1 byte."},
    {2, "int8", "1 byte."},          {3, "int16", "2 bytes."},
    {4, "int32", "4 bytes."},        {5, "int64", "8 bytes."},
    {6, "float16", "2 bytes."},      {7, "bfloat16", "2 bytes."},
    {8, "float32", "4 bytes."},      {9, "float64", "8 bytes."},
    {10, "bool", "1 byte."},         {11, "complex64", "8 bytes."},
    {12, "complex128", "16 bytes."}, {13, "float8", "1 byte, any of the formats."},
};

inline constexpr EnumValue kReductionValues[] = {
    {0, "none", "No reduction, or not known."},
    {1, "sum", "Sum."},
    {2, "avg", "Mean."},
    {3, "product", "Product."},
    {4, "min", "Minimum."},
    {5, "max", "Maximum."},
    {6, "bitwise", "A bitwise operation."},
    {7, "other", "A custom one."},
};

inline constexpr EnumValue kCollectiveStateValues[] = {
    {0, "enqueued", "Called, and not begun when the trace ended."},
    {1, "running", "Begun, and not finished when the trace ended."},
    {2, "complete", "Finished."},
    {3, "unobserved", "Called; when it ran was not recorded."},
    {4, "failed", "Ended with an error, at its end_ns: it was never completed."},
};

inline constexpr EnumValue kStepSourceValues[] = {
    {1, "marker", "An explicit range: `step` or ProfilerStep#N."},
    {2, "optimizer", "From the end of one optimizer range to the end of the next."},
    {3, "inferred", "From the repetition of what is recorded."},
};

inline constexpr EnumValue kSourceValues[] = {
    {0, "recorder", "The recorder itself."},
    {1, "torch", "LibTorch's RecordFunction."},
    {2, "nvtx", "NVTX."},
    {3, "nccl", "NCCL's profiler plugin."},
    {4, "cuda", "CUPTI."},
    {5, "system", "The recorder's sampling of the system."},
    {6, "import", "An importer of another tool's format."},
};

inline constexpr EnumValue kLossReasonValues[] = {
    {1, "ring_full", "The recorder did not drain a thread's ring in time."},
    {2, "no_ring", "More threads recorded than there are rings."},
    {3, "arena_full", "The string arena is full: the records were kept, without their texts."},
    {4, "unpaired_end", "An end came whose begin was not recorded."},
    {5, "bad_record", "A record made no sense and was left out."},
    {6, "disk", "The trace could not be written (disk full, input/output error)."},
    {7, "recorder_killed", "The recorder ended first; what came later was not recorded."},
    {8, "text_cut", "A text or payload was longer than a record holds and was cut."},
    {9, "process_fork", "A fork child records nothing."},
    {10, "skipped_row", "An importer could not use a row of the foreign file."},
    {11, "cupti_dropped", "CUPTI had no room for its records."},
    {12, "cupti_queue", "CUPTI's buffers came faster than they could be read."},
    {13, "inbox_full", "More was measured by the recorder itself than could be written."},
};

inline constexpr EnumValue kSeverityValues[] = {
    {0, "info", "Worth knowing."},
    {1, "data_loss", "Something was not recorded or not read; figures that need it say so."},
    {2, "error", "A part of the analysis could not be done."},
};

inline constexpr EnumValue kMemoryEventKindValues[] = {
    {0, "alloc", "A block was handed out."},
    {1, "free", "A block was given back."},
    {2, "segment_alloc", "The allocator took memory from the device."},
    {3, "segment_free", "The allocator gave memory back to the device."},
    {4, "oom", "An allocation failed."},
    {5, "registered", "The block is known to hold what `category` says."},
};

inline constexpr EnumValue kMemoryCategoryValues[] = {
    {0, "unknown", "Not known."},
    {1, "parameter", "Parameters."},
    {2, "gradient", "Gradients."},
    {3, "optimizer_state", "State of the optimizer."},
    {4, "activation", "Made in forward and needed by backward."},
    {5, "bucket", "Buffers of DDP's buckets."},
    {6, "temporary", "Made and freed within one phase."},
};

inline constexpr EnumValue kCaptureStateValues[] = {
    {0, "off", "Nothing is recorded."},
    {1, "armed", "Waiting for a window or a request."},
    {2, "recording", "Recording at the level that `detail` says."},
    {3, "stopped", "Recording has ended for good."},
};

inline constexpr EnumValue kDetailLevelValues[] = {
    {0, "none", "No source records."},
    {1, "light", "Marked ranges, autograd nodes, NVTX, NCCL, kernels."},
    {2, "standard", "Collectives of LibTorch too."},
    {3, "full", "Every operator, kernel shapes, allocations."},
};

inline constexpr EnumValue kCaptureCauseValues[] = {
    {0, "start", "The recording began."},
    {1, "window", "A window of steps or seconds opened or closed."},
    {2, "request", "`dprof ctl` asked for it."},
    {3, "governor", "The overhead governor (`--max-overhead`)."},
    {4, "loss", "Records were being lost."},
    {5, "trigger", "A hang, a crash or another trigger of the flight recorder."},
};

inline constexpr EnumValue kNcclEventKindValues[] = {
    {1, "channel", "One channel of one kernel."},
    {2, "proxy", "One operation of NCCL's network proxy."},
};

inline constexpr EnumValue kStackKindValues[] = {
    {1, "native", "Machine code, as the unwinder sees it."},
    {2, "python", "What Python was executing."},
};

inline constexpr EnumValue kPayloadKindValues[] = {
    {0, "none", "No payload."},        {1, "uint64", "Unsigned 64 bit."},
    {2, "int64", "Signed 64 bit."},    {3, "double", "IEEE double."},
    {4, "uint32", "Unsigned 32 bit."}, {5, "int32", "Signed 32 bit."},
    {6, "float", "IEEE single."},      {7, "schema", "Bytes as `nvtx_schema` declares them."},
};

inline constexpr Enumeration kEnumerations[] = {
    {"ThreadRole", kThreadRoleValues, "What a thread is for."},
    {"RangeCategory", kRangeCategoryValues, "Where a host range comes from."},
    {"GpuActivityKind", kGpuActivityKindValues, "What a device did."},
    {"Backend", kBackendValues, "What carries a communicator's data."},
    {"Function", kFunctionValues,
     "What a collective does; the same word whatever the backend calls it."},
    {"DataType", kDataTypeValues, "Element type of a collective's data."},
    {"Reduction", kReductionValues, "How a collective combines values."},
    {"CollectiveState", kCollectiveStateValues, "How far a collective got."},
    {"StepSource", kStepSourceValues, "How a step was found."},
    {"Source", kSourceValues, "Which part of dprof recorded it."},
    {"LossReason", kLossReasonValues, "Why something was not recorded."},
    {"Severity", kSeverityValues, "How much a diagnostic matters."},
    {"MemoryEventKind", kMemoryEventKindValues, "What happened to memory."},
    {"PayloadKind", kPayloadKindValues, "Type of an NVTX payload."},
    {"MemoryCategory", kMemoryCategoryValues, "What a block of memory holds."},
    {"CaptureState", kCaptureStateValues, "Whether records are taken."},
    {"DetailLevel", kDetailLevelValues, "How much is recorded."},
    {"CaptureCause", kCaptureCauseValues, "Why the capture changed."},
    {"NcclEventKind", kNcclEventKindValues, "What NCCL told beside its collectives."},
    {"StackKind", kStackKindValues, "Whose frames they are."},
};

}  // namespace dprof::schema
