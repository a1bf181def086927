// SPDX-License-Identifier: Apache-2.0
#include "synth/faults/catalogue.h"

#include <algorithm>
#include <iterator>

namespace dprof::synth {
namespace {

constexpr FaultKind kCatalogue[] = {
    {"slow-forward", Family::kFault, "Additional operators in forward, ms long.", "compute", 20, 1,
     "ms"},
    {"slow-backward", Family::kFault,
     "Additional operators in backward, before any bucket, ms long.", "compute", 20, 1, "ms"},
    {"slow-optimizer", Family::kFault, "Additional operators in the optimizer's step, ms long.",
     "compute", 20, 1, "ms"},
    {"slow-rank", Family::kFault,
     "Every operator takes factor times as long; with host: on all ranks of that host.", "compute",
     0, 1.4, "factor, host"},
    {"sleep-forward", Family::kFault, "The host sleeps ms in forward; no operator runs.", "host",
     20, 1, "ms"},
    {"sleep-backward", Family::kFault, "The host sleeps ms in backward, before any bucket.", "host",
     20, 1, "ms"},
    {"loader", Family::kFault, "The next batch comes ms later.", "dataloader", 20, 1, "ms"},
    {"slow-storage", Family::kFault,
     "The loader's workers need factor times as long for a batch and do not keep up.", "dataloader",
     0, 6, "factor"},
    {"gc-pause", Family::kFault, "The host stops for ms in forward, without a trace of why.", "gc",
     200, 1, "ms"},
    {"gc-collect", Family::kFault,
     "Python collects garbage for ms in forward, and a range `gc.collect` says so.", "gc", 200, 1,
     "ms"},
    {"gc-pauses", Family::kFault,
     "Every rank's host stops for ms in forward, each in steps of its own, without a trace of why.",
     "gc", 200, 1, "ms, probability"},
    {"item-sync", Family::kFault,
     "`.item()` in forward, count times a step, and Python for ms before the next launch: the "
     "device runs dry.",
     "synchronisation", 0.5, 1, "count, ms", true},
    {"cpu-contention", Family::kFault,
     "Another process has the core: operators take factor times as long, more or less at random; "
     "the run queue tells.",
     "cpu_contention", 0, 1.5, "factor"},
    {"input-imbalance", Family::kFault, "The rank's batches are factor times as long.",
     "input_imbalance", 0, 1.4, "factor"},
    {"long-sequences", Family::kFault, "The rank's sequences are factor times as long.",
     "input_imbalance", 0, 1.4, "factor"},
    {"stage-imbalance", Family::kFault, "The rank's pipeline stage has factor times the layers.",
     "stage_imbalance", 0, 1.5, "factor"},
    {"slow-link", Family::kFault,
     "Transfers over one host's interface take factor times as long (host).", "network", 0, 4,
     "host, factor"},
    {"slow-network", Family::kFault, "All transfers between ranks take factor times as long.",
     "network", 0, 4, "factor"},
    {"allocator-churn", Family::kFault,
     "The allocator gives memory back and asks for it again, count times a step, 2 ms each.",
     "allocator", 2, 1, "ms, count"},
    {"checkpoint", Family::kFault,
     "The rank writes a checkpoint of ms at the end of each 10th step.", "checkpoint", 300, 1,
     "ms"},
    {"rank0-work", Family::kFault,
     "Rank 0 has work of its own at the end of each step (logging), ms.", "rank0_work", 15, 1,
     "ms"},
    {"gpu-throttle", Family::kFault,
     "The device is throttled: its kernels take factor times as long, and its clock says so.",
     "gpu_throttle", 0, 1.4, "factor", true},
    {"slow-device", Family::kFault,
     "The device is an older model: its kernels take factor times as long.", "device", 0, 1.4,
     "factor", true},
    {"slow-memory", Family::kFault,
     "The device's memory is slow: elementwise kernels take factor times as long, and no others.",
     "gpu_memory", 0, 2, "factor", true},

    {"drop",
     Family::kLoss,
     "Each collective record is lost with the probability.",
     {},
     0,
     1,
     "probability"},
    {"truncate",
     Family::kLoss,
     "One rank's trace ends at step `from`; its process went on.",
     {},
     0,
     1,
     "rank, from"},
    {"absent", Family::kLoss, "One rank leaves no trace.", {}, 0, 1, "rank"},

    {"leak",
     Family::kMemory,
     "The rank keeps count MiB more after each step; it costs no time.",
     {},
     0,
     1,
     "count"},

    {"hang-sleep", Family::kHang, "A rank sleeps and never comes to its first bucket.", "host"},
    {"hang-exception", Family::kHang, "A rank ends with an error in backward.", "host"},
    {"hang-early-exit", Family::kHang, "A rank has fewer batches and ends in good order.", "host"},
    {"hang-infinite-loop", Family::kHang, "A rank computes for ever in backward.", "host"},
    {"hang-data-stall", Family::kHang, "A rank's next batch never comes.", "dataloader"},
    {"hang-killed", Family::kHang, "A rank is killed (SIGKILL) in backward.", "host"},
    {"hang-lost-node", Family::kHang, "A host is gone: none of its ranks tells anything any more.",
     "host"},
    {"hang-swapped", Family::kHang,
     "Two ranks call two communicators in opposite order: a deadlock of both.", "host", 0, 1,
     "rank, other"},
    {"hang-wrong-size", Family::kHang, "A rank calls its first bucket with another size.", "host"},
    {"hang-wrong-function", Family::kHang,
     "A rank calls a broadcast where the others call an all-reduce.", "host"},
    {"hang-wrong-dtype", Family::kHang, "A rank calls its first bucket with another element type.",
     "host"},
    {"hang-network", Family::kHang, "The network stands still; every member is in the collective.",
     "network"},
    {"hang-queued", Family::kHang,
     "A rank's collective stands in its queue behind one of another communicator, whose other "
     "member sleeps: that one is the culprit.",
     "host", 0, 1, "rank, other"},
    {"hang-two-culprits", Family::kHang, "In each half of the ranks one sleeps.", "host", 0, 1,
     "rank, other"},
    {"hang-missing-trace", Family::kHang, "A rank never comes, and there is no trace of it.",
     "host"},

    {"unequal-stages", Family::kHealthy,
     "Pipeline stages with different lasting loads (pipeline only)."},
    {"rank0-extra", Family::kHealthy, "Rank 0 does a little more than the others, below 2 %."},
    {"noisy-hosts", Family::kHealthy, "Operators vary by 5 %, each host by its own speed of 1 %."},
    {"variable-sequences", Family::kHealthy, "Each rank's batches vary at random by 15 %."},
    {"spikes", Family::kHealthy, "1 % of the steps of any rank take 30 ms longer."},
    {"below-floor", Family::kHealthy, "One rank is slower by 1 % of a step."},
    {"checkpoints", Family::kHealthy, "All ranks write a checkpoint in each 10th step."},
    {"warm-up", Family::kHealthy, "The first three steps take three times as long."},
    {"all-slower", Family::kHealthy,
     "From the middle on every rank computes 1.3 times as long: all alike."},
    {"all-input", Family::kHealthy, "Every rank waits a quarter of a step for its batches."},
};

}  // namespace

std::span<const FaultKind> catalogue() { return kCatalogue; }

const FaultKind* find_fault(std::string_view name) {
  const auto found = std::ranges::find(kCatalogue, name, &FaultKind::name);
  return found == std::end(kCatalogue) ? nullptr : &*found;
}

}  // namespace dprof::synth
