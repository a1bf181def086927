// SPDX-License-Identifier: Apache-2.0
// Every table of a trace, declared once. `dprof-schema` makes from it schema/generated/rows.h and
// docs/reference/schema.md; `scripts/check` fails where they differ. A new column goes to the end
// of its table, with the next schema version.
#pragma once

#include "schema/enums.h"

namespace dprof::schema {

inline constexpr int64_t kApplicationId = 0x44505246;  // "DPRF", at byte 68 of the file
inline constexpr int kUserVersion = 1;

inline constexpr Column kMetaColumns[] = {
    {"key", Type::kText, Unit::kNone, 1, "What is told; see the list of keys."},
    {"value", Type::kText, Unit::kNone, 1, "The value, as text."},
};
inline constexpr Column kStringColumns[] = {
    {"id", Type::kInteger, Unit::kNone, 1, "Number by which other tables refer to the text."},
    {"value", Type::kText, Unit::kNone, 1, "The text; unique."},
};
inline constexpr Column kThreadColumns[] = {
    {"id", Type::kInteger, Unit::kNone, 1, "Number within this trace, by first event."},
    {"os_tid", Type::kInteger, Unit::kNone, 1, "The kernel's thread id (gettid)."},
    {"name_id", Type::kInteger, Unit::kNone, 1, "The thread's name, if it has one.", Null::kAllowed,
     "string"},
    {"role", Type::kEnum, Unit::kNone, 1, "What it is for.", Null::kNever, "ThreadRole"},
};
inline constexpr Column kDeviceColumns[] = {
    {"id", Type::kInteger, Unit::kNone, 1, "CUDA's ordinal in this process."},
    {"uuid", Type::kText, Unit::kNone, 1, "The device's UUID.", Null::kAllowed},
    {"name_id", Type::kInteger, Unit::kNone, 1, "Model name.", Null::kAllowed, "string"},
    {"memory_bytes", Type::kInteger, Unit::kBytes, 1, "Total memory.", Null::kAllowed},
};
inline constexpr Column kStreamColumns[] = {
    {"id", Type::kInteger, Unit::kNone, 1, "Number within this trace."},
    {"device_id", Type::kInteger, Unit::kNone, 1, "The device it belongs to.", Null::kNever,
     "device"},
    {"cuda_stream", Type::kInteger, Unit::kNone, 1, "CUPTI's stream id."},
    {"name_id", Type::kInteger, Unit::kNone, 1, "Name given by NVTX.", Null::kAllowed, "string"},
};
inline constexpr Column kHostRangeColumns[] = {
    {"id", Type::kInteger, Unit::kNone, 1, "Row number; rows of one thread stand in start order."},
    {"thread_id", Type::kInteger, Unit::kNone, 1, "The thread that it ran on.", Null::kNever,
     "thread"},
    {"start_ns", Type::kInteger, Unit::kTraceNs, 1, "When it began."},
    {"duration_ns", Type::kInteger, Unit::kDurationNs, 1,
     "How long it took; NULL = still open when the trace ended.", Null::kAllowed},
    {"name_id", Type::kInteger, Unit::kNone, 1, "Its name.", Null::kNever, "string"},
    {"category", Type::kEnum, Unit::kNone, 1, "Where it comes from.", Null::kNever,
     "RangeCategory"},
    {"sequence", Type::kInteger, Unit::kNone, 1,
     "Autograd sequence number: the same in forward and backward.", Null::kAllowed},
    {"correlation", Type::kInteger, Unit::kNone, 1, "CUPTI's correlation id of a launch call.",
     Null::kAllowed},
};
inline constexpr Column kRangeDetailColumns[] = {
    {"range_id", Type::kInteger, Unit::kNone, 1, "The range that this belongs to.", Null::kNever,
     "host_range"},
    {"domain_id", Type::kInteger, Unit::kNone, 1, "NVTX domain; NULL = the default one.",
     Null::kAllowed, "string"},
    {"color", Type::kInteger, Unit::kNone, 1, "0xAARRGGBB, as the program set it.", Null::kAllowed},
    {"nvtx_category", Type::kInteger, Unit::kNone, 1, "The program's NVTX category number.",
     Null::kAllowed},
    {"payload_kind", Type::kEnum, Unit::kNone, 1, "Type of the payload.", Null::kNever,
     "PayloadKind"},
    {"payload", Type::kBlob, Unit::kNone, 1, "The payload's bytes, as they lay in memory.",
     Null::kAllowed},
    {"schema_id", Type::kInteger, Unit::kNone, 1, "Schema of a payload of kind schema.",
     Null::kAllowed},
};
inline constexpr Column kNvtxSchemaColumns[] = {
    {"domain_id", Type::kInteger, Unit::kNone, 1,
     "NVTX domain that registered it; NULL = the default one.", Null::kAllowed, "string"},
    {"schema_id", Type::kInteger, Unit::kNone, 1,
     "Number by which payloads refer to it, unique in its domain."},
    {"name_id", Type::kInteger, Unit::kNone, 1, "The schema's name.", Null::kAllowed, "string"},
    {"entry_index", Type::kInteger, Unit::kCount, 1, "Position of the field, from 0."},
    {"entry_name_id", Type::kInteger, Unit::kNone, 1, "The field's name.", Null::kAllowed,
     "string"},
    {"entry_type", Type::kInteger, Unit::kNone, 1,
     "NVTX_PAYLOAD_ENTRY_TYPE_* of nvToolsExtPayload.h."},
    {"entry_offset", Type::kInteger, Unit::kBytes, 1, "Where it lies in the payload."},
};
inline constexpr Column kGpuActivityColumns[] = {
    {"id", Type::kInteger, Unit::kNone, 1, "Row number; rows of one stream stand in start order."},
    {"device_id", Type::kInteger, Unit::kNone, 1, "The device.", Null::kNever, "device"},
    {"stream_id", Type::kInteger, Unit::kNone, 1, "The stream.", Null::kNever, "stream"},
    {"start_ns", Type::kInteger, Unit::kTraceNs, 1, "When it began."},
    {"duration_ns", Type::kInteger, Unit::kDurationNs, 1, "How long it took.", Null::kAllowed},
    {"name_id", Type::kInteger, Unit::kNone, 1, "Kernel name, or the kind of copy.", Null::kNever,
     "string"},
    {"kind", Type::kEnum, Unit::kNone, 1, "What it was.", Null::kNever, "GpuActivityKind"},
    {"bytes", Type::kInteger, Unit::kBytes, 1, "Bytes moved or set.", Null::kAllowed},
    {"correlation", Type::kInteger, Unit::kNone, 1, "Joins it to its launch in host_range.",
     Null::kAllowed},
    {"graph_node", Type::kInteger, Unit::kNone, 1, "Node of the CUDA graph it ran in.",
     Null::kAllowed},
};
inline constexpr Column kGpuDependencyColumns[] = {
    {"id", Type::kInteger, Unit::kNone, 1, "Row number."},
    {"event", Type::kInteger, Unit::kNone, 1,
     "CUDA event that ties record, wait and synchronise together."},
    {"record_stream_id", Type::kInteger, Unit::kNone, 1, "Stream that recorded the event.",
     Null::kAllowed, "stream"},
    {"wait_stream_id", Type::kInteger, Unit::kNone, 1, "Stream that waited; NULL = the host did.",
     Null::kAllowed, "stream"},
    {"record_ns", Type::kInteger, Unit::kTraceNs, 1, "When the record was called.", Null::kAllowed},
    {"wait_ns", Type::kInteger, Unit::kTraceNs, 1, "When the wait was called.", Null::kAllowed},
    {"correlation", Type::kInteger, Unit::kNone, 1, "Correlation id of the waiting call.",
     Null::kAllowed},
};
inline constexpr Column kCommunicatorColumns[] = {
    {"id", Type::kInteger, Unit::kNone, 1, "Number within this trace."},
    {"hash", Type::kInteger, Unit::kNone, 1, "Equal on all ranks of a communicator."},
    {"ordinal", Type::kInteger, Unit::kCount, 1,
     "How many of the same hash were made before it, from 0."},
    {"backend", Type::kEnum, Unit::kNone, 1, "What carries its data.", Null::kNever, "Backend"},
    {"size", Type::kInteger, Unit::kCount, 1, "Number of members.", Null::kAllowed},
    {"own_rank", Type::kInteger, Unit::kNone, 1, "This process's number within it.",
     Null::kAllowed},
    {"name_id", Type::kInteger, Unit::kNone, 1, "PyTorch's name of the process group.",
     Null::kAllowed, "string"},
};
inline constexpr Column kCommunicatorMemberColumns[] = {
    {"communicator_id", Type::kInteger, Unit::kNone, 1, "The communicator.", Null::kNever,
     "communicator"},
    {"member", Type::kInteger, Unit::kNone, 1, "Number within the communicator."},
    {"rank", Type::kInteger, Unit::kNone, 1, "Global rank of that member."},
};
inline constexpr Column kCollectiveColumns[] = {
    {"id", Type::kInteger, Unit::kNone, 1,
     "Row number; rows of one communicator stand in order of their call."},
    {"communicator_id", Type::kInteger, Unit::kNone, 1, "The communicator.", Null::kAllowed,
     "communicator"},
    {"function", Type::kEnum, Unit::kNone, 1, "What it does.", Null::kNever, "Function"},
    {"sequence", Type::kInteger, Unit::kCount, 1, "Count per communicator and function, from 0.",
     Null::kAllowed},
    {"group_sequence", Type::kInteger, Unit::kCount, 1,
     "Count per communicator over all functions, from 0.", Null::kAllowed},
    {"bytes", Type::kInteger, Unit::kBytes, 1, "Bytes of this rank's input.", Null::kAllowed},
    {"count", Type::kInteger, Unit::kCount, 1, "Elements of this rank's input.", Null::kAllowed},
    {"dtype", Type::kEnum, Unit::kNone, 1, "Element type.", Null::kNever, "DataType"},
    {"root", Type::kInteger, Unit::kNone, 1, "Root's number in the communicator.", Null::kAllowed},
    {"peer", Type::kInteger, Unit::kNone, 1, "Peer's number in the communicator.", Null::kAllowed},
    {"reduction", Type::kEnum, Unit::kNone, 1, "How values are combined.", Null::kNever,
     "Reduction"},
    {"enqueue_ns", Type::kInteger, Unit::kTraceNs, 1, "When it was called; NULL = not recorded.",
     Null::kAllowed},
    {"start_ns", Type::kInteger, Unit::kTraceNs, 1,
     "When its execution began here (waiting included).", Null::kAllowed},
    {"end_ns", Type::kInteger, Unit::kTraceNs, 1, "When it was finished here.", Null::kAllowed},
    {"state", Type::kEnum, Unit::kNone, 1, "How far it got.", Null::kNever, "CollectiveState"},
    {"algorithm", Type::kText, Unit::kNone, 1, "NCCL's algorithm.", Null::kAllowed},
    {"protocol", Type::kText, Unit::kNone, 1, "NCCL's protocol.", Null::kAllowed},
    {"channels", Type::kInteger, Unit::kCount, 1, "NCCL's channels.", Null::kAllowed},
    {"stream_id", Type::kInteger, Unit::kNone, 1, "Stream that it ran on.", Null::kAllowed,
     "stream"},
    {"bucket", Type::kInteger, Unit::kNone, 1, "DDP bucket that it reduced.", Null::kAllowed},
    {"captured", Type::kInteger, Unit::kNone, 1, "1 = captured in a CUDA graph."},
    {"thread_id", Type::kInteger, Unit::kNone, 1, "Host thread that executed it (Gloo).",
     Null::kAllowed, "thread"},
    {"enqueue_thread_id", Type::kInteger, Unit::kNone, 1, "Host thread that called it.",
     Null::kAllowed, "thread"},
};
inline constexpr Column kStepColumns[] = {
    {"step_index", Type::kInteger, Unit::kNone, 1, "0 for the first step that was seen."},
    {"start_ns", Type::kInteger, Unit::kTraceNs, 1, "Where the step begins."},
    {"end_ns", Type::kInteger, Unit::kTraceNs, 1, "Where it ends; NULL = the trace ended first.",
     Null::kAllowed},
    {"source", Type::kEnum, Unit::kNone, 1, "How it was found.", Null::kNever, "StepSource"},
};
inline constexpr Column kMemoryEventColumns[] = {
    {"id", Type::kInteger, Unit::kNone, 1, "Row number, in order of time."},
    {"thread_id", Type::kInteger, Unit::kNone, 1, "The thread.", Null::kAllowed, "thread"},
    {"device_id", Type::kInteger, Unit::kNone, 1, "The device; -1 = host memory."},
    {"time_ns", Type::kInteger, Unit::kTraceNs, 1, "When."},
    {"kind", Type::kEnum, Unit::kNone, 1, "What happened.", Null::kNever, "MemoryEventKind"},
    {"address", Type::kInteger, Unit::kNone, 1, "Address of the block."},
    {"bytes", Type::kInteger, Unit::kBytes, 1, "Size of the block."},
    {"stream_id", Type::kInteger, Unit::kNone, 1, "Stream it was allocated for.", Null::kAllowed,
     "stream"},
    {"allocated_bytes", Type::kInteger, Unit::kBytes, 1, "Allocated afterwards.", Null::kAllowed},
    {"reserved_bytes", Type::kInteger, Unit::kBytes, 1, "Reserved afterwards.", Null::kAllowed},
};
inline constexpr Column kMemorySampleColumns[] = {
    {"id", Type::kInteger, Unit::kNone, 1, "Row number, in order of time."},
    {"time_ns", Type::kInteger, Unit::kTraceNs, 1, "When."},
    {"device_id", Type::kInteger, Unit::kNone, 1, "The device; -1 = host memory."},
    {"step_index", Type::kInteger, Unit::kNone, 1, "Step whose peak this is.", Null::kAllowed},
    {"allocated_bytes", Type::kInteger, Unit::kBytes, 1, "Allocated; on the host the resident set.",
     Null::kAllowed},
    {"reserved_bytes", Type::kInteger, Unit::kBytes, 1, "Reserved.", Null::kAllowed},
};
inline constexpr Column kLoaderEventColumns[] = {
    {"id", Type::kInteger, Unit::kNone, 1, "Row number, in order of time."},
    {"thread_id", Type::kInteger, Unit::kNone, 1, "The thread that waited.", Null::kNever,
     "thread"},
    {"start_ns", Type::kInteger, Unit::kTraceNs, 1, "When the wait for a batch began."},
    {"duration_ns", Type::kInteger, Unit::kDurationNs, 1, "How long it took.", Null::kAllowed},
    {"queue_depth", Type::kInteger, Unit::kCount, 1, "Batches that were ready.", Null::kAllowed},
    {"batch_shape", Type::kText, Unit::kNone, 1, "Shape of the batch.", Null::kAllowed},
    {"index_hash", Type::kInteger, Unit::kNone, 1, "Hash of the sample indices.", Null::kAllowed},
    {"epoch", Type::kInteger, Unit::kCount, 1, "The epoch.", Null::kAllowed},
};
inline constexpr Column kClockSampleColumns[] = {
    {"id", Type::kInteger, Unit::kNone, 1, "Row number, in order of time."},
    {"ticks", Type::kInteger, Unit::kTicks, 1, "Tick counter."},
    {"realtime_ns", Type::kInteger, Unit::kRealtimeNs, 1, "CLOCK_REALTIME at that moment."},
    {"monotonic_raw_ns", Type::kInteger, Unit::kDurationNs, 1,
     "CLOCK_MONOTONIC_RAW at that moment."},
    {"width_ns", Type::kInteger, Unit::kDurationNs, 1, "How far apart the readings can be."},
};
inline constexpr Column kClockProbeColumns[] = {
    {"id", Type::kInteger, Unit::kNone, 1, "Row number, in order of time."},
    {"peer", Type::kText, Unit::kNone, 1, "The other recorder."},
    {"send_ns", Type::kInteger, Unit::kTraceNs, 1, "Sent here."},
    {"peer_receive_ns", Type::kInteger, Unit::kDurationNs, 1,
     "Received there, on the peer's clock."},
    {"peer_reply_ns", Type::kInteger, Unit::kDurationNs, 1, "Answered there, on the peer's clock."},
    {"receive_ns", Type::kInteger, Unit::kTraceNs, 1, "Received here."},
};
inline constexpr Column kSystemSampleColumns[] = {
    {"id", Type::kInteger, Unit::kNone, 1, "Row number, in order of time."},
    {"time_ns", Type::kInteger, Unit::kTraceNs, 1, "When."},
    {"kind_id", Type::kInteger, Unit::kNone, 1, "What was read, as a dotted name.", Null::kNever,
     "string"},
    {"subject", Type::kInteger, Unit::kNone, 1, "Thread, device or port that it is of.",
     Null::kAllowed},
    {"value", Type::kInteger, Unit::kNone, 1, "The value, in the unit that the name ends in."},
};
inline constexpr Column kLossColumns[] = {
    {"source", Type::kEnum, Unit::kNone, 1, "What would have recorded it.", Null::kNever, "Source"},
    {"thread_id", Type::kInteger, Unit::kNone, 1, "The thread; NULL = none or any.", Null::kAllowed,
     "thread"},
    {"reason", Type::kEnum, Unit::kNone, 1, "Why it was not recorded.", Null::kNever, "LossReason"},
    {"count", Type::kInteger, Unit::kCount, 1, "How many records."},
    {"first_ns", Type::kInteger, Unit::kTraceNs, 1, "Time of the first.", Null::kAllowed},
    {"last_ns", Type::kInteger, Unit::kTraceNs, 1, "Time of the last.", Null::kAllowed},
};
inline constexpr Column kDiagnosticColumns[] = {
    {"code", Type::kText, Unit::kNone, 1, "Its name in the catalogue of diagnostics."},
    {"severity", Type::kEnum, Unit::kNone, 1, "How much it matters.", Null::kNever, "Severity"},
    {"count", Type::kInteger, Unit::kCount, 1, "How often."},
    {"text_id", Type::kInteger, Unit::kNone, 1, "What happened here.", Null::kNever, "string"},
};

inline constexpr Table kTables[] = {
    {"meta", "MetaRow", "", "key", kMetaColumns, "Facts about the recording: one key, one value."},
    {"string", "StringRow", "id", "id", kStringColumns, "Texts, each once."},
    {"thread", "ThreadRow", "id", "id", kThreadColumns,
     "Threads of the process that recorded something."},
    {"device", "DeviceRow", "id", "id", kDeviceColumns, "GPUs that the process used."},
    {"stream", "StreamRow", "id", "id", kStreamColumns, "Streams of those GPUs."},
    {"host_range", "HostRangeRow", "id", "thread, start_ns", kHostRangeColumns,
     "What host threads did: ops, user ranges, autograd nodes, NVTX ranges, API calls."},
    {"range_detail", "RangeDetailRow", "", "range_id", kRangeDetailColumns,
     "What some ranges carry besides: NVTX domain, colour, category and payload."},
    {"nvtx_schema", "NvtxSchemaRow", "", "domain_id, schema_id, entry_index", kNvtxSchemaColumns,
     "Payload schemas that the program registered with NVTX, one row per field."},
    {"gpu_activity", "GpuActivityRow", "id", "stream, start_ns", kGpuActivityColumns,
     "What devices did: kernels, copies, memsets, synchronisations."},
    {"gpu_dependency", "GpuDependencyRow", "id", "id", kGpuDependencyColumns,
     "Which stream waited for which, through an event."},
    {"communicator", "CommunicatorRow", "id", "id", kCommunicatorColumns,
     "Groups of ranks that this process is in."},
    {"communicator_member", "CommunicatorMemberRow", "", "communicator_id, member",
     kCommunicatorMemberColumns, "Global ranks of a communicator's members, where they are known."},
    {"collective", "CollectiveRow", "id", "communicator, call", kCollectiveColumns,
     "This rank's part of each collective."},
    {"step", "StepRow", "", "start_ns", kStepColumns,
     "Training steps of this rank, in order; they never overlap."},
    {"memory_event", "MemoryEventRow", "id", "time_ns", kMemoryEventColumns,
     "Allocations and frees."},
    {"memory_sample", "MemorySampleRow", "id", "time_ns", kMemorySampleColumns,
     "Memory in use, by time or step."},
    {"loader_event", "LoaderEventRow", "id", "start_ns", kLoaderEventColumns,
     "Waits for a batch of data."},
    {"clock_sample", "ClockSampleRow", "id", "ticks", kClockSampleColumns,
     "One moment on three clocks."},
    {"clock_probe", "ClockProbeRow", "id", "send_ns", kClockProbeColumns,
     "Four-timestamp probes between the recorders of two hosts."},
    {"system_sample", "SystemSampleRow", "id", "time_ns", kSystemSampleColumns,
     "What the recorder read from the system."},
    {"loss", "LossRow", "", "source", kLossColumns, "What was not recorded, and why."},
    {"diagnostic", "DiagnosticRow", "", "code", kDiagnosticColumns,
     "What the recorder had to remark."},
};

// Keys of `meta`. Which are there depends on what could be found out: a missing key is "unknown".
inline constexpr MetaKey kMetaKeys[] = {
    {"dprof_version", "Version of the dprof that recorded."},
    {"run_id", "Random id that all traces of a run share."},
    {"host", "Name of the host."},
    {"boot_id", "The kernel's boot id."},
    {"clock_id", "Identity of the clock: boot id, time namespace, fake clock; equal = one host."},
    {"pid", "Process id, in the recorder's namespace."},
    {"rank", "Global rank; missing = the process never had one."},
    {"local_rank", "Rank on this host."},
    {"world_size", "Number of ranks of the job."},
    {"node_rank", "Number of this host in the job."},
    {"launcher", "dprof, torchrun, openmpi, mpich, slurm, horovod, or none."},
    {"restart_count", "How often the launcher had restarted the job."},
    {"command", "The process's command line."},
    {"detail", "light, standard or full."},
    {"clock_source", "tsc or monotonic."},
    {"ticks_per_second", "Rate of the tick counter, as used for the conversion."},
    {"origin_realtime_ns", "CLOCK_REALTIME at time 0."},
    {"origin_monotonic_raw_ns", "CLOCK_MONOTONIC_RAW at time 0."},
    {"torch_version", "Version of the LibTorch in the process."},
    {"torch_build_id", "Build id of its libtorch_cpu."},
    {"torch_source", "on, or why RecordFunction was not used."},
    {"nvtx_source", "on, or unused."},
    {"first_event_ns", "Time of the first record."},
    {"last_event_ns", "Time of the last record."},
    {"records", "Records drained from the rings."},
    {"in_process_ns", "Estimate of the time that the collector's own code took in the process."},
    {"recorder_cpu_ns", "CPU time of this rank's writer thread."},
    {"ended",
     "complete, process_killed, recovered; missing = still being recorded, or the recorder died."},
    {"exit_status", "How the process ended, where the recorder could know: exit:N or signal:N."},
};

}  // namespace dprof::schema
