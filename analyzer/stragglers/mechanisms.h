// SPDX-License-Identifier: Apache-2.0
// For each possible cause of a culprit: the evidence that the recording must contain, and what
// would contradict it. docs/analysis/causes.md shows the same table.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace dprof::analyzer {

struct Mechanism {
  std::string_view cause;
  std::string_view seen;
  std::string_view contradicted_by;
};

inline constexpr Mechanism kMechanisms[] = {
    {"dataloader", "the training thread waits for a batch longer than its peers",
     "the batch was there, by the loader's own time stamps, before the thread asked for it"},
    {"compute",
     "operators (on a GPU kernels) of a phase take longer, and so does the training thread's CPU "
     "time where it is recorded",
     "the thread has hardly more CPU time than its peers: then it waited, which is host"},
    {"host",
     "time in no operator (in a phase, in a named range, or outside both); samples show what the "
     "thread waited for, if there are enough",
     "operators or kernels that ran in that time"},
    {"synchronisation",
     "the device is idle after a synchronisation; on a CPU, samples of the thread show it waiting "
     "for another thread (futex) for more than half of the delay",
     "the same delay without the call that synchronises"},
    {"gc",
     "a range of Python's collector; if collections are not recorded, occasional pauses outside "
     "every phase, or pauses of each rank independently",
     "collections were recorded, but none here; or one rank at a time pauses in each step"},
    {"checkpoint", "a range named checkpoint", "a checkpoint of the same size on its peers"},
    {"rank0_work", "logging, or a range that its peers do not have, on rank 0",
     "the same range on other ranks, or another rank than 0"},
    {"cpu_contention", "the thread was ready to run and had no core (run queue)",
     "the delay stays when the rank has its own core"},
    {"allocator",
     "calls of the allocator; on a CPU more CPU time within the kernel together with more page "
     "faults than its peers",
     "as many page faults as its peers"},
    {"input_imbalance",
     "its batches have more elements, and computation grows by no more than their square; if their "
     "shapes are not known, forward and backward are longer by one factor, and the optimizer is not",
     "batches of the same number of elements"},
    {"stage_imbalance", "the same in a pipeline, where ranks have layers of their own",
     "as many operators as other stages: then the device or the core is slow"},
    {"network",
     "transfers of groups that share a host take longer than those of comparable groups, or than "
     "before, beyond what contention on the path explains",
     "a bandwidth test of that host alone at the usual speed"},
    {"device",
     "all kernels are slower by one factor, the optimizer's too, and no clock, limit or memory "
     "explains it; or another model of GPU",
     "the same kernels on another machine are as slow"},
    {"gpu_throttle", "throttle reasons in the samples, or a lower SM clock than its peers'",
     "equal clocks in the same time"},
    {"gpu_memory",
     "uncorrected memory errors, a lower memory clock, or memory-bound kernels slower and matrix "
     "products not",
     "matrix products are slower by the same factor"},
    {"mixed", "no single kind of time makes up most of the delay", "one of them alone explains it"},
    {"unknown", "nothing that is recorded differs by as much as the delay",
     "a recording at a higher detail"},
};

// nullptr: not the cause of a culprit.
[[nodiscard]] constexpr const Mechanism* mechanism_of(std::string_view cause) {
  const auto* const found = std::ranges::find(kMechanisms, cause, &Mechanism::cause);
  return found == std::end(kMechanisms) ? nullptr : found;
}

}  // namespace dprof::analyzer
