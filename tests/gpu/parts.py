# SPDX-License-Identifier: Apache-2.0
"""The parts of the GPU check in the order of their value: what each asks, how long it may take, and who answers it.

The table of docs/gpu_results.md has a line for each. All limits together are 20 minutes."""
import costs
import ends
import profilers
import ranks
import recording
import what_if
import windows
from part import CPU, FAKE, Question

QUESTIONS = [
    Question("doctor", "What does `dprof doctor` say can be recorded?", 25, recording.doctor),
    Question("kernels", "C++: does the driver call InitializeInjection, does subscribing work, and are kernels joined to their "
             "launches with per-function enables only?", 30, recording.kernels, FAKE),
    Question("python",
             "The same for Python's torch, one rank over NCCL, with its plugin: operators, steps, collectives, the report", 65,
             recording.python, CPU, (("python", 0),)),
    Question("step-cost",
             "What does recording cost a step at light, standard and full detail? It is switched on and off within one run", 90,
             costs.step_cost),
    Question("windows", "Does a job survive when recording is switched on and off while its kernels run?", 75,
             windows.switched, FAKE),
    Question("clock", "Do kernels lie between their launch and the end of a wait for them, on the common clock?", 30,
             recording.clock, FAKE),
    Question("torch-profiler",
             "Does a later torch.profiler lose its GPU rows, and do `--cuda=off` and `--cuda=yield --armed` save them?",
             60, profilers.torch_profiler),
    Question("killed", "What is in the trace after kill -9, Ctrl-C and `os._exit`?", 55, ends.killed, FAKE),
    Question("hang", "Do the traces of ranks that hang in NCCL contain their kernels?", 40, ends.hang, None),
    Question("two-ranks",
             "Two ranks on one GPU, distinguished by `NCCL_HOSTID`: are NCCL's kernels joined to its launches, and do both "
             "ranks report the same collectives?", 50, ranks.two_ranks, ranks.rehearse_two_ranks, (("run", 0), ("run", 1))),
    Question("graphs", "Is each replay of a CUDA graph one row, joined to its launch?", 45, recording.graphs, FAKE,
             (("run", 0),)),
    Question("allocator",
             "Does the CUDA allocator's trace contain every allocation and PyTorch's own peak, and what does it cost?", 35,
             recording.allocator),
    Question("dependencies", "Do the callbacks have event and stream ids?", 20, recording.dependencies, FAKE),
    Question("launch-cost", "How much more does a launch cost at light, standard and full detail?", 50, costs.launch_cost,
             FAKE),
    Question("flush", "What does a flush each second cost, does it hold up launches, and how old are the rows in the trace?",
             35,
             recording.flush, FAKE),
    Question("import", "Do the figures of an imported torch.profiler trace agree with dprof's own for the same steps?", 40,
             profilers.profiler_import, CPU, (("profile.json", None),)),
    Question("nvml", "What does NVML report under full load, and is throttling seen?", 35, recording.nvml, FAKE),
    Question("run-cost", "Whole runs in turn: bare, without CUDA, armed, light, standard, full; torch.profiler and "
             "Nsight Systems beside them", 100, costs.run_cost),
    Question("what-if", "Do the predictions of `--what-if` come true when the job is changed?", 150, what_if.what_if,
             keep=tuple((case, 0) for case in what_if.QUESTIONS)),
    Question("cupti-kinds", "What does each kind of CUPTI record cost per launch, graph and query, without dprof?", 45,
             costs.cupti_kinds,
             FAKE),
    Question("nccl-events", "NCCL's channels and proxy: which events come, and what do they cost?", 60, ranks.events,
             ranks.rehearse_events),
    Question("off", "Does `--cuda=off` keep CUDA out of the trace?", 20, recording.off, FAKE),
    Question("nsight", "What does dprof report in a process under Nsight Compute or Nsight Systems?", 25, profilers.nsight,
             None),
    Question("clients", "Several clients: CUPTI 13.3 and driver r610", 20, recording.clients, recording.rehearse_clients),
]
