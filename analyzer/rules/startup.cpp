// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/startup.h"

namespace dprof::analyzer {
namespace {

constexpr Rule kStartupRules[] = {
    {.name = "startup.failed",
     .ids = "M10, M13, M24",
     .finds = "a rank ended with an error, and no rank had made an update",
     .severity = "fatal: nothing was trained",
     .guard =
         "an optimizer phase or two steps on any rank; a rank that only the launcher ended; a hang; rows of a GPU",
     .suppressed_by = "comm.unfinished-reduction",
     .advice = "read that rank's error; the last range that it was in says where",
     .detect = startup::failed},
    {.name = "startup.rendezvous",
     .ids = "M9",
     .finds = "the job has two or more ranks, ended with an error, and no trace has a communicator",
     .severity = "warn: which error it was the trace does not say",
     .guard = "any collective or communicator; any update",
     .suppressed_by = "startup.failed",
     .advice =
         "each process its own RANK below WORLD_SIZE, one MASTER_ADDR that all nodes reach (no loopback), one free MASTER_PORT; "
         "init_process_group once, with the back end of the tensors' devices",
     .detect = startup::rendezvous},
    {.name = "startup.no-ranks",
     .ids = "M23",
     .finds = "the job ended well, and no recorded process computed anything",
     .severity = "fatal: nothing was trained",
     .guard =
         "any event, or a job of several ranks; "
         "where no process at all was recorded there is no run to analyse, and `dprof record` says so (no_process)",
     .suppressed_by = "",
     .advice =
         "how many processes does the launcher start? "
         "A count of GPUs is 0 on a machine without any; and fork after CUDA was used starts none that works",
     .detect = startup::no_ranks},
    {.name = "device.shared",
     .ids = "M11",
     .finds = "two or more ranks have kernels on a GPU of the same UUID",
     .severity = "fatal for speed: they take turns",
     .guard = "parts of a GPU that have a UUID of their own (MIG); "
              "ranks that pass messages to each other (parallel.stages-share-device)",
     .suppressed_by = "",
     .advice =
         "torch.cuda.set_device(local_rank) before anything else, and that one device in device_ids",
     .detect = startup::device_shared},
    {.name = "parallel.stages-share-device",
     .ids = "M14",
     .finds = "ranks that pass messages to each other have kernels on a GPU of the same UUID",
     .severity = "fatal for speed: stages take turns anyway, and share the memory",
     .guard = "both parts of the model in one process: which part a kernel belongs to is not told",
     .suppressed_by = "",
     .advice = "a device of its own for each stage",
     .detect = startup::stages_share_device},
    {.name = "parallel.single-process",
     .ids = "M5",
     .finds = "one process has phases replicate and gather in its steps",
     .severity = "upper bound: replicate, gather and reduce",
     .guard = "several ranks; stages of one model on several devices, which are not copied",
     .suppressed_by = "",
     .advice = "DistributedDataParallel with a process for each GPU",
     .detect = startup::single_process},
    {.name = "parallel.bubble",
     .ids = "M22",
     .finds =
         "a pipeline has fewer than four micro-batches in flight per stage, and its stages wait for each other",
     .severity = "upper bound: their waiting, less what four per stage would leave of it",
     .guard = "no ranges stage_forward; below 1 % of the step",
     .suppressed_by = "",
     .advice = "more micro-batches",
     .detect = startup::bubble},
    {.name = "step.partial-accumulation",
     .ids = "M20",
     .finds = "steps with fewer micro-batches than usual and no optimizer phase",
     .severity = "time of these steps; at least warn, since samples are wasted",
     .guard = "no ranges micro_step; the short window ends with an update",
     .suppressed_by = "",
     .advice =
         "update at the end of the data, too, and divide the loss by the batches that there were",
     .detect = startup::partial_accumulation},
    {.name = "amp.skipped-steps",
     .ids = "M21",
     .finds = "a tenth of the gradient scaler's updates, and at least three, change no parameter",
     .severity = "share of the steps that were for nothing; at least warn",
     .guard = "operators were not recorded (detail full has them); fewer skips",
     .suppressed_by = "",
     .advice =
         "optimizer.zero_grad() in each step, scaler.unscale_ before clipping; bfloat16 needs no scaler",
     .detect = startup::skipped_steps},
    {.name = "io.many-writers",
     .ids = "M19",
     .finds = "two or more ranks spend time in ranges of checkpoints or logging",
     .severity = "info: median over ranks of that time; whether the files are equal is not told",
     .guard = "checkpoints where parameters are divided among ranks; below 1 % of the step",
     .suppressed_by = "",
     .advice =
         "rank 0 saves and logs, the others go on; sharded states by torch.distributed.checkpoint",
     .detect = startup::many_writers},
};

}  // namespace

std::span<const Rule> startup_rules() { return kStartupRules; }

}  // namespace dprof::analyzer
