// SPDX-License-Identifier: Apache-2.0
// The catalogue of diagnostics: everything lossy or doubtful has a row here, with a sentence and a
// hint. Counts are kept in the trace (table `diagnostic`) or in the report
// (`recording.diagnostics`).
#pragma once

#include <span>
#include <string_view>

#include "schema/generated/rows.h"

namespace dprof::schema {

enum class Scope : uint8_t { kProcess, kRecorder, kAnalysis };

struct DiagnosticKind {
  std::string_view code;
  Severity severity;
  Scope scope;
  std::string_view sentence;  // what happened, in general
  std::string_view hint;      // what to do
};

inline constexpr DiagnosticKind kDiagnostics[] = {
    // In the recorded process.
    {"torch_version_mismatch", Severity::kDataLoss, Scope::kProcess,
     "The process's LibTorch is not the one that libdprof_torch.so was built for; ops and "
     "collectives are not recorded.",
     "scripts/build --torch VERSION builds one for this torch too, see docs/user_guide.md"},
    {"torch_library_missing", Severity::kDataLoss, Scope::kProcess,
     "libdprof_torch.so could not be loaded; ops and collectives are not recorded.",
     "it must stand beside libdprof.so; build dprof with LibTorch"},
    {"nvtx_taken", Severity::kInfo, Scope::kProcess,
     "NVTX_INJECTION64_PATH was set already; dprof replaced it, so the other tool gets no NVTX "
     "ranges.",
     "unset NVTX_INJECTION64_PATH, or run the tools one after the other"},
    {"memory_limit", Severity::kDataLoss, Scope::kProcess,
     "The process could not map its rings (RLIMIT_FSIZE, RLIMIT_AS or memory); it recorded "
     "nothing.",
     "raise the limit named in the text"},
    {"wire_version", Severity::kDataLoss, Scope::kProcess,
     "The process's libdprof.so speaks another version than this recorder; it recorded nothing.",
     "use dprof and libdprof.so of one build"},
    {"cupti_taken", Severity::kDataLoss, Scope::kProcess,
     "Another client has CUPTI (torch.profiler, Nsight, a preset injection path); no GPU activity "
     "is "
     "recorded.",
     "run the tools one after the other; `--cuda=off` says that no GPU rows are wanted"},
    {"cupti_refused", Severity::kDataLoss, Scope::kProcess,
     "CUPTI answered with an error; no GPU activity is recorded.",
     "the text has CUPTI's code: 999 = no driver, 35 = no permission for counters"},
    {"cupti_missing", Severity::kDataLoss, Scope::kProcess,
     "CUDA is used, but no libcupti could be loaded; no GPU activity is recorded.",
     "install CUDA's CUPTI, or the wheel nvidia-cuda-cupti, of the driver's version"},
    {"cuda_injection_taken", Severity::kInfo, Scope::kProcess,
     "CUDA_INJECTION64_PATH was set already; dprof replaced it, so the other tool sees no CUDA.",
     "unset CUDA_INJECTION64_PATH, or record with --cuda=off"},
    {"nccl_plugin_taken", Severity::kInfo, Scope::kProcess,
     "NCCL_PROFILER_PLUGIN was set already; dprof replaced it, so the other plugin gets nothing.",
     "unset NCCL_PROFILER_PLUGIN, or record without it"},
    {"nccl_too_old", Severity::kInfo, Scope::kProcess,
     "This NCCL has no profiler plugin that dprof knows (2.26 or later); collectives come from "
     "NVTX "
     "and LibTorch, without sequence numbers.",
     "use NCCL 2.26 or later"},
    {"nccl_events_refused", Severity::kInfo, Scope::kProcess,
     "Some of the events that DPROF_NCCL_EVENTS asks for are not recorded; the rest of NCCL is.",
     "the text says which and why; docs/nccl.md has the NCCL versions"},
    {"turned_away", Severity::kDataLoss, Scope::kProcess,
     "Something connected to the recorder's socket and did not say what libdprof.so says; it was "
     "turned away, and nothing of it is recorded.",
     "does a program of the job use DPROF_SOCKET by itself?"},
    {"odd_rank", Severity::kInfo, Scope::kProcess,
     "A process says something of its rank that cannot be; what most processes say of the job's "
     "size counts.",
     "look at RANK, WORLD_SIZE and their like in the text's process"},
    // In the recorder.
    {"governor", Severity::kInfo, Scope::kRecorder,
     "The overhead governor lowered the detail, because recording would have cost more than "
     "--max-overhead.",
     "table `capture` says when; allow more, or record less from the start"},
    {"capture_window", Severity::kInfo, Scope::kRecorder,
     "Only a part of the run was recorded, as asked for.", "table `capture` says when"},
    {"no_control", Severity::kInfo, Scope::kRecorder,
     "The recorder could not open its control socket; `dprof ctl` cannot reach it.",
     "the text says why"},
    {"slow_file_system", Severity::kInfo, Scope::kRecorder,
     "The run folder lies on a network file system, where SQLite needs a rollback journal: "
     "recording costs more there, and a trace can be read only when it is finished.",
     "record to a local disk and copy the folder afterwards"},
    {"no_peers", Severity::kInfo, Scope::kRecorder,
     "No other recorder of this run was met, although the job has ranks on other hosts.",
     "let the recorders share the run folder, or give all of them the same --meet HOST:PORT"},
    {"not_sampled", Severity::kInfo, Scope::kRecorder, "A part of the system could not be sampled.",
     "the text says which and why"},
    {"no_process", Severity::kError, Scope::kRecorder,
     "No process of the command recorded anything.",
     "is it a dynamically linked program that loads torch or uses NVTX, on this machine?"},
    {"missing_rank", Severity::kDataLoss, Scope::kRecorder,
     "A rank that belongs to the job was never seen by the recorder.",
     "run `dprof record` on every node, or give the folders of one run together to `dprof report`"},
    {"process_killed", Severity::kInfo, Scope::kRecorder, "A rank ended without a clean end.",
     "its records up to that moment are all there; open ranges show what it was doing"},
    {"records_lost", Severity::kDataLoss, Scope::kRecorder, "Records were dropped.",
     "record less (--detail light, --steps A:B); the loss table says where and why"},
    {"damaged_ring", Severity::kDataLoss, Scope::kRecorder,
     "A process's shared memory held values that make no sense.",
     "the process may have been writing through a wild pointer; its other rings were read"},
    {"late_gpu_rows", Severity::kInfo, Scope::kRecorder,
     "CUPTI delivered some rows after later ones had been written; they stand out of order.",
     "sort by start_ns where order matters; fewer GPU rows per second help"},
    {"gpu_without_time", Severity::kDataLoss, Scope::kRecorder,
     "CUPTI gave some records no time; their rows stand at the moment of delivery, with no "
     "duration.",
     "CUDA graphs that were made before the recording began are the usual cause"},
    {"several_traces", Severity::kInfo, Scope::kRecorder,
     "A rank has several traces (it was restarted or forked).",
     "the report uses the last one; name a file to read another"},
    // While another tool's recording was imported.
    {"unreadable_import", Severity::kError, Scope::kRecorder,
     "A file that was to be imported could not be read.",
     "the run is made from the others; the text says what is wrong with it"},
    {"import_cut", Severity::kDataLoss, Scope::kRecorder,
     "An imported file could not be read whole: it was cut off, or parts of it are no JSON.",
     "what came before is used; figures reach only so far"},
    {"import_skipped", Severity::kDataLoss, Scope::kRecorder,
     "Rows of an imported file could not be used; they are counted in `loss`.",
     "docs/import.md says which rows are used"},
    {"import_repeats", Severity::kInfo, Scope::kRecorder,
     "Rows of an imported file say again what other rows say, or are for display only; they are "
     "counted in `loss`, and nothing is missing by it.",
     "docs/import.md says which rows are used"},
    {"import_overlaps", Severity::kInfo, Scope::kRecorder,
     "Rows of an imported file overlap that should follow or hold each other.",
     "all of them are kept; time that two of them cover counts once"},
    {"import_no_rank", Severity::kInfo, Scope::kRecorder,
     "An imported file does not tell its rank.",
     "give the files in the order of the ranks, or name them worker0, worker1, …"},
    {"import_several_ranks", Severity::kInfo, Scope::kRecorder,
     "An imported file holds several ranks, told apart by the names of its processes.",
     "give one file per rank where there are such: nothing has to be guessed then"},
    {"import_groups_unknown", Severity::kInfo, Scope::kRecorder,
     "Collectives of an imported file do not tell their process group; they are matched across "
     "ranks by function and order.",
     "newer releases of PyTorch write the group; record with dprof to have all of it"},
    // In the analysis.
    {"unreadable_trace", Severity::kError, Scope::kAnalysis, "A file of the run could not be read.",
     "the report is made from the others; try `dprof recover RUN`"},
    {"absent_rank", Severity::kDataLoss, Scope::kAnalysis, "The run has no trace of a rank.",
     "figures are of the ranks that are there; a straggler may be the missing one"},
    {"unfinished_trace", Severity::kInfo, Scope::kAnalysis,
     "A trace has no end: it is still being recorded, or its recorder was killed.",
     "figures reach to the last record; `dprof recover RUN` finishes the trace"},
    {"no_run_json", Severity::kInfo, Scope::kAnalysis,
     "The folder has no run.json; the traces themselves were used.", "run.json is only an index"},
    {"no_steps", Severity::kError, Scope::kAnalysis,
     "No training step was found; breakdown and stragglers are not computed.",
     "mark steps with a range named `step`, or let torch.optim mark them (detail standard)"},
    {"rank_without_steps", Severity::kDataLoss, Scope::kAnalysis,
     "A rank never reached a step; it is left out.", "look at its last ranges in the timeline"},
    {"rank_with_few_steps", Severity::kDataLoss, Scope::kAnalysis,
     "A rank has less than half as many complete steps as the others; it is left out.",
     "was it restarted, or its recording cut? Its own trace can be reported alone: --ranks"},
    {"steps_inferred", Severity::kInfo, Scope::kAnalysis,
     "Nobody marked steps; they were found by what repeats.",
     "a range named `step` around each step says where it begins: then nothing is guessed"},
    {"steps_from_peers", Severity::kInfo, Scope::kAnalysis,
     "Some ranks marked no steps; theirs are those of the ranks that they communicate with.",
     "mark steps on all ranks, or on none"},
    {"no_steady_steps", Severity::kInfo, Scope::kAnalysis,
     "Something repeats, but not evenly enough in time to be a step.",
     "mark steps with a range named `step`"},
    {"step_marks_not_used", Severity::kInfo, Scope::kAnalysis,
     "Steps that were marked overlap, or are not the same on all ranks: they are not used.",
     "is each optimizer update marked once, on every rank?"},
    {"steps_renumbered", Severity::kInfo, Scope::kAnalysis,
     "A rank counts its steps from another number; the same step has one number in the report.",
     "what the ranks did together says which of their steps are the same"},
    {"uneven_steps", Severity::kInfo, Scope::kAnalysis,
     "The ranks' steps differ in number, or some of them overlap.",
     "figures are of the steps that all ranks have"},
    {"few_steps", Severity::kInfo, Scope::kAnalysis,
     "There are few steady steps; estimates are coarse.", "record at least 20 steps"},
    {"no_collectives", Severity::kInfo, Scope::kAnalysis, "No collective was recorded.",
     "ranks cannot be compared without them; detail light does not record them with Gloo"},
    {"unmatched_collectives", Severity::kInfo, Scope::kAnalysis,
     "Some collectives could not be matched across ranks (cut off, missing or different).",
     "a crash, a hang or a missing rank leaves some"},
    {"guessed_waits", Severity::kInfo, Scope::kAnalysis,
     "Some collectives in which only the root, or only others than the root, wait could not be "
     "divided into waiting and transfer: the clocks of their ranks, or their root, are not known. "
     "Their shortest stay was taken for the transfer.",
     "record the hosts with recorders that meet; with one host, the root is missing in the "
     "records"},
    {"collective_mismatch", Severity::kInfo, Scope::kAnalysis,
     "The ranks of a communicator did not call the same collectives in the same order.",
     "the text names the place, and what each side calls there; look for a condition in the "
     "program "
     "that is not the same on all ranks"},
    {"collectives_renumbered", Severity::kInfo, Scope::kAnalysis,
     "A rank has a collective more or less than the others; its later ones were paired by what "
     "they "
     "are, not by their numbers.",
     "records may have been lost, or the rank called another number of collectives"},
    {"collectives_undated", Severity::kInfo, Scope::kAnalysis,
     "Imported collectives have a duration, and no time of their begin: they stand where their "
     "record "
     "was written.",
     "their durations and bandwidths are right; when they ran is approximate"},
    {"flight_recorder_dump", Severity::kInfo, Scope::kAnalysis,
     "The trace was imported from a dump that PyTorch's flight recorder wrote: it has the last "
     "calls "
     "of collectives, and nothing of how long the process had stood still.",
     "what never finished is taken to have hung"},
    {"unmatched_messages", Severity::kInfo, Scope::kAnalysis,
     "Some sends or receives have no counterpart in another rank's trace.",
     "a crash, a hang, lost records or a missing rank leaves some; calls that do not go through "
     "torch's process group are recorded without their peer"},
    {"phases_left_out", Severity::kInfo, Scope::kAnalysis,
     "More distinct ranges are marked within steps than the report lists.",
     "mark phases by names without numbers in them; the timeline shows every range"},
    {"two_ranks", Severity::kInfo, Scope::kAnalysis,
     "With two ranks there is no majority: 'slower than the other' is all that can be said.",
     "compare with a run known to be good, or record more ranks"},
    {"ranks_alike", Severity::kInfo, Scope::kAnalysis,
     "No rank holds the others up, as far as a comparison of ranks can see.",
     "what all ranks share shows in a comparison with another run only"},
    {"replay_refused", Severity::kInfo, Scope::kAnalysis,
     "Replaying the run unchanged does not give its recorded step times, so nothing is predicted "
     "from "
     "it; what stragglers cost is uncertain by that much, and their confidence is halved.",
     "operators or collectives may be missing in the recording: record with more detail"},
    {"replay_doubtful", Severity::kInfo, Scope::kAnalysis,
     "Replaying the run unchanged gives its recorded step times only roughly; costs are uncertain "
     "by "
     "that much.",
     "the bound of each cost has it"},
    {"unaligned_clocks", Severity::kInfo, Scope::kAnalysis,
     "The ranks' hosts have different clocks, and nothing recorded ties them together; times "
     "across "
     "hosts are not comparable.",
     "verdicts rest on durations only; record the hosts with recorders that meet"},
    {"clock_reset", Severity::kInfo, Scope::kAnalysis,
     "A host's clock jumped against the reference's while it recorded.",
     "was the virtual machine paused or moved? Times near the jump are known less well"},
    {"doubtful_clock_evidence", Severity::kInfo, Scope::kAnalysis,
     "Some of what the traces tell about their clocks cannot be true, and was left out.",
     "damaged rows, or a clock that was set while a probe was under way"},
    {"asymmetric_path", Severity::kInfo, Scope::kAnalysis,
     "The probes between some hosts disagree with those of all others; they were left out.",
     "is one way between them slower than the way back?"},
    {"clock_violations", Severity::kInfo, Scope::kAnalysis,
     "Some collectives seem to end on one rank before they began on another, by more than the "
     "clocks' bounds.",
     "wrong records, or clocks worse than their probes say: do not compare times across hosts"},
    {"device_clock", Severity::kInfo, Scope::kAnalysis,
     "A GPU's times do not fit to those of its host.",
     "times between this GPU and its host are not to be trusted; durations on the GPU are"},
    {"open_ranges", Severity::kInfo, Scope::kAnalysis,
     "Ranges were still open when the trace ended.",
     "they end at the end of the trace in figures and are marked in the timeline"},
    {"events_lost", Severity::kDataLoss, Scope::kAnalysis,
     "Records were lost while recording; figures may be too small.",
     "record less (--detail light, --steps A:B)"},
    {"odd_gpu_times", Severity::kDataLoss, Scope::kAnalysis,
     "GPU rows have no duration, a negative one, or a time that makes no sense; they are left out.",
     "CUDA graphs that were made before the recording began leave rows without times; in an "
     "imported file its writer is at fault"},
    {"empty_gpu_rows", Severity::kInfo, Scope::kAnalysis,
     "GPU rows have length 0: they end a gap on their device, and take no time.",
     "a clock that counts in microseconds leaves some"},
    {"overlapping_gpu_rows", Severity::kInfo, Scope::kAnalysis,
     "GPU rows overlap on one stream, which a stream does not do; every moment still counts once.",
     "streams that share a number, or times that were rounded, are the usual cause"},
    {"communication_by_name", Severity::kInfo, Scope::kAnalysis,
     "Kernels are taken for communication because of their name: no recorded collective has them.",
     "record NCCL's plugin too (NCCL 2.26 or later), or import a trace with NCCL metadata"},
    {"not_computed", Severity::kInfo, Scope::kAnalysis,
     "A part of the report is not computed from this run.", "the text says which and why"},
};

// The catalogue's row; asserts that there is one.
[[nodiscard]] const DiagnosticKind& diagnostic_kind(std::string_view code);

}  // namespace dprof::schema
