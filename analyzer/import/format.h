// SPDX-License-Identifier: Apache-2.0
// The foreign formats: how to recognise and to read each. A new format needs a folder, its
// declaration below, and one line in import.cpp.
#pragma once

#include <filesystem>
#include <string_view>

#include "analyzer/import/sink/file_sink.h"
#include "base/result.h"

namespace dprof::analyzer {

struct Format {
  std::string_view name;  // meta.imported_format

  // Decides by content, never by the file's name. `head` is the beginning of the file, decompressed
  // if it is gzip; at most kHeadBytes. Formats are tried in the order of the registry: the most
  // specific ones first.
  bool (*recognises)(std::string_view head);

  // Reads the file into one or more traces of the sink (FileSink::open_trace). Returns kNotATrace
  // or kDamaged if the whole file is unusable; its opened traces are then dropped. If part of it is
  // usable, calls FileSink::damaged() and returns Done. An unusable row is skipped and counted
  // (TraceSink::skip); it is not a failure.
  Status (*read)(const std::filesystem::path& path, FileSink& sink);
};

inline constexpr size_t kHeadBytes = 65536;

}  // namespace dprof::analyzer

namespace dprof::analyzer::flight_recorder {

// Dumps of PyTorch's flight recorder: calls of a process that were unfinished when it hung.
//
// Pickles (protocol 2 to 5, plain containers only) and JSON. One file is one rank; the rank is in
// the file if PyTorch writes it there, else at the end of the file's name. Nothing in a file is
// executed. Times are CLOCK_REALTIME of an unknown host: each file has its own clock.
extern const Format kFormat;

}  // namespace dprof::analyzer::flight_recorder

namespace dprof::analyzer::memory_snapshot {

// Snapshots of PyTorch's CUDA allocator (torch.cuda.memory._dump_snapshot): its state, and the
// preceding events, with stacks.
//
// Pickles of plain containers. One file is one rank, which only its name can show. Nothing in a
// file is executed. Times are CLOCK_REALTIME of an unknown host, in microseconds.
extern const Format kFormat;

}  // namespace dprof::analyzer::memory_snapshot

namespace dprof::analyzer::nccl_inspector {

// Output of NCCL's Inspector plugin: collectives with sizes and times, one process per file or
// several.
//
// A process becomes a trace. Its rank is its number in its largest communicator, since the records
// have no global ranks. Its times are CLOCK_REALTIME of the host named in the records.
extern const Format kFormat;

}  // namespace dprof::analyzer::nccl_inspector

namespace dprof::analyzer::nsys {

// SQLite exports of Nsight Systems, schema 3.0 to 3.25 (plain or gzip).
//
// Each process with CUDA or NVTX rows becomes a trace; they share the session's clock. The rank
// comes from MPI or NCCL, else from the environment, else from the order of the devices. Accepts
// any SQLite file except dprof's own; one that is not an export is refused (kNotATrace).
extern const Format kFormat;

}  // namespace dprof::analyzer::nsys

namespace dprof::analyzer::operation_table {

// Operation tables of Megatron-like jobs: Chrome JSON in which each row is one forward, backward,
// send, receive or reduction of one rank, as published by straggler studies.
//
// The process id is the data-parallel rank; a thread's name contains stage, tensor-parallel rank
// and lane. One file holds all ranks, each of which becomes a trace. The file is read twice,
// because the names are at its end.
extern const Format kFormat;

}  // namespace dprof::analyzer::operation_table

namespace dprof::analyzer::rocprofv3 {

// JSON of AMD's rocprofv3: kernels, copies, HIP and RCCL calls, ROCTX markers.
//
// A process becomes a trace. Times count from the host's boot: processes of one host share a clock,
// and the wall clock is unknown. So are the ranks.
extern const Format kFormat;

}  // namespace dprof::analyzer::rocprofv3

namespace dprof::analyzer::kineto {

// Chrome JSON, as written by Kineto (PyTorch's profiler) and many other tools.
//
// Accepts any JSON object or array, so it is last in the registry. A file without events is refused
// (kNotATrace). Its traces have format `kineto` if the file has Kineto's characteristics, else
// `chrome`.
extern const Format kFormat;

}  // namespace dprof::analyzer::kineto
