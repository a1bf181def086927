// SPDX-License-Identifier: Apache-2.0
// The foreign formats: how each is recognised, and how it is read. A new one is a folder, its
// declaration below, and one line in import.cpp.
#pragma once

#include <filesystem>
#include <string_view>

#include "analyzer/import/sink/file_sink.h"
#include "base/result.h"

namespace dprof::analyzer {

struct Format {
  std::string_view name;  // meta.imported_format

  // By content, never by the file's name. `head` is the beginning of the file, unpacked if it is
  // gzip; at most kHeadBytes. Formats are asked in the order of the registry: the narrow ones
  // first.
  bool (*recognises)(std::string_view head);

  // Reads the file into one or more traces of the sink (FileSink::open_trace). kNotATrace or
  // kDamaged if nothing of it can be used; the traces that it opened are then dropped. If a part
  // could be used, it says FileSink::damaged() and returns Done. A row that cannot be used is
  // skipped and counted (TraceSink::skip), it is no failure.
  Status (*read)(const std::filesystem::path& path, FileSink& sink);
};

inline constexpr size_t kHeadBytes = 65536;

}  // namespace dprof::analyzer

namespace dprof::analyzer::flight_recorder {

// Dumps of PyTorch's flight recorder: what a process had called and not finished when it stood
// still.
//
// Pickles (protocol 2 to 5, plain containers only) and JSON. One file is one rank; it stands in the
// file where PyTorch writes it there, else at the end of the file's name. Nothing of a file is
// executed. Times are CLOCK_REALTIME of an unknown host: each file has a clock of its own.
extern const Format kFormat;

}  // namespace dprof::analyzer::flight_recorder

namespace dprof::analyzer::memory_snapshot {

// Snapshots of PyTorch's CUDA allocator (torch.cuda.memory._dump_snapshot): what it held, and the
// events that led there, with stacks.
//
// Pickles of plain containers. One file is one rank, which only its name may tell. Nothing of a
// file is executed. Times are CLOCK_REALTIME of an unknown host, in microseconds.
extern const Format kFormat;

}  // namespace dprof::analyzer::memory_snapshot

namespace dprof::analyzer::nccl_inspector {

// What NCCL's Inspector plugin writes: collectives with sizes and times, one process per file or
// several.
//
// A process becomes a trace. Its rank is its number in its largest communicator: global ranks are
// not in the records. Its times are CLOCK_REALTIME of the host that the records name.
extern const Format kFormat;

}  // namespace dprof::analyzer::nccl_inspector

namespace dprof::analyzer::nsys {

// SQLite exports of Nsight Systems, schema 3.0 to 3.25 (plain or gzip).
//
// Each process with CUDA or NVTX rows becomes a trace; they share the session's clock. The rank is
// that of MPI or NCCL, else of the environment, else the order of the devices. Any SQLite file that
// is not dprof's own; one that is no export is refused (kNotATrace).
extern const Format kFormat;

}  // namespace dprof::analyzer::nsys

namespace dprof::analyzer::operation_table {

// Operation tables of Megatron-type jobs: Chrome JSON in which each row is one forward, backward,
// send, receive or reduction of one rank, as straggler studies publish them.
//
// The process id is the data-parallel rank; a thread's name gives stage, tensor-parallel rank and
// lane. One file holds all ranks, each of which becomes a trace. The file is read twice: the names
// stand at its end.
extern const Format kFormat;

}  // namespace dprof::analyzer::operation_table

namespace dprof::analyzer::rocprofv3 {

// JSON of AMD's rocprofv3: kernels, copies, calls of HIP and RCCL, markers of ROCTX.
//
// A process becomes a trace. Times count from the host's boot: processes of one host share a clock,
// and nothing tells the wall clock. Nothing tells ranks either.
extern const Format kFormat;

}  // namespace dprof::analyzer::rocprofv3

namespace dprof::analyzer::kineto {

// Chrome JSON, as Kineto (PyTorch's profiler) and many other tools write it.
//
// Any JSON object or array: it comes last in the registry. A file that has no events is refused
// (kNotATrace). Its traces are of format `kineto` where the file shows its marks, else `chrome`.
extern const Format kFormat;

}  // namespace dprof::analyzer::kineto
