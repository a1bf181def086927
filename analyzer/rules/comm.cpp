// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/comm.h"

namespace dprof::analyzer {
namespace {

constexpr Rule kCommRules[] = {
    {.name = "comm.hang",
     .ids = "M8",
     .finds = "a collective that began was never finished, and the run ended in it",
     .severity = "fatal: the run stood still",
     .guard = "every collective that began was completed, or all ranks ended together",
     .suppressed_by = "input.shards-uneven, comm.unfinished-reduction",
     .advice =
         "see what that rank did last: code that only some ranks run, uneven data, an endless loop",
     .detect = comm::hang},
    {.name = "comm.no-gradient-sync",
     .ids = "M6",
     .finds =
         "all ranks have optimizer phases, and no collective or message with data in their steps",
     .severity = "fatal: the ranks train models of their own",
     .guard =
         "one rank; collectives are not recorded (detail light); records were lost; fewer than 3 steady steps; "
         "any collective with data in backward or the optimizer, or of 64 KiB or more",
     .suppressed_by = "",
     .advice =
         "wrap the model in DistributedDataParallel, or average the gradients by an all-reduce before the optimizer; "
         "a barrier exchanges nothing",
     .detect = comm::no_gradient_sync},
    {.name = "comm.unfinished-reduction",
     .ids = "M18",
     .finds =
         "DDP was set up, a backward ran without any all-reduce, and all ranks ended with an error within two steps",
     .severity = "fatal: training ends",
     .guard = "a rank ended in good order, or reduced gradients in a backward",
     .suppressed_by = "",
     .advice =
         "a parameter takes no part in the loss: leave it out, or set find_unused_parameters=True",
     .detect = comm::unfinished_reduction},
    {.name = "comm.gloo-on-gpu",
     .ids = "M12",
     .finds = "ranks that use a GPU move at least 64 KiB a step by back end gloo",
     .severity = "upper bound: the transfers and the copies to and from the host",
     .guard = "ranks without a GPU; small collectives of objects and metrics",
     .suppressed_by = "",
     .advice = "init_process_group(backend=\"nccl\") for tensors on GPUs; "
               "a second group of back end gloo for tensors on the host",
     .detect = comm::gloo_on_gpu},
    {.name = "comm.slow-group",
     .finds =
         "a group's transfers take 1.10 times those of comparable groups in at least 3 windows",
     .severity = "upper bound: exposed transfer beyond the speed of the comparable groups",
     .guard = "no comparable groups; a single slow group is placed within its members only",
     .suppressed_by = "",
     .advice = "test the links of these hosts, look for retransmits and flaps, take the host out",
     .detect = comm::slow_group},
    {.name = "comm.sync-each-microbatch",
     .ids = "M3",
     .finds = "a step has k backwards, each of which all-reduces, in 80 % of the steps",
     .severity = "upper bound: (k - 1) / k of the all-reduces' exposed time",
     .guard = "only the last backward of a step reduces (no_sync), or there is one; "
              "as many optimizers as backwards (several models)",
     .suppressed_by = "",
     .advice = "put all micro-batches but the last into `with model.no_sync():`",
     .detect = comm::sync_each_microbatch},
    {.name = "comm.server-bottleneck",
     .ids = "M17",
     .finds =
         "all messages of the run begin or end at one rank, which does not compute, with at least two workers",
     .severity = "upper bound: the workers' exposed communication, but for one worker's share",
     .guard = "pipelines; collectives that carry the gradients; below 1 % of the step",
     .suppressed_by = "",
     .advice = "an all-reduce uses the links of all ranks (DistributedDataParallel); "
               "or divide the parameters among several servers",
     .detect = comm::server_bottleneck},
    {.name = "comm.find-unused",
     .finds = "DDP searches the graph for unused parameters in each step",
     .severity = "transfers of the map of used parameters; the search itself is not recorded",
     .guard = "the flag was not seen at work on most ranks",
     .suppressed_by = "",
     .advice = "find_unused_parameters=False where every parameter gets a gradient; "
               "static_graph=True where the graph never changes",
     .detect = comm::find_unused},
    {.name = "comm.no-overlap",
     .finds =
         "less than 5 % of the communication is hidden, although computation was left to hide it",
     .severity = "upper bound: the part of the exposed transfer that could be hidden",
     .guard = "no reduction of gradients in the steps; below 1 % of the step",
     .suppressed_by =
         "comm.gloo-on-gpu, comm.sync-each-microbatch, comm.slow-group, comm.blocking-wait, host.false-dependency",
     .advice = "reduce during backward",
     .detect = comm::no_overlap},
    {.name = "comm.order-blocked",
     .finds = "buckets are ready and wait for lower ones for at least 2 % of the step, summed",
     .severity = "upper bound: that time, at most the exposed transfer",
     .guard = "when buckets were ready was not recorded; below 1 % of the step",
     .suppressed_by = "comm.find-unused",
     .advice = "make the layers in the order in which forward uses them; "
               "no find_unused_parameters, so that DDP can put buckets in order; static_graph=True",
     .detect = comm::order_blocked},
    {.name = "comm.exposed-tail",
     .finds =
         "buckets' transfers are exposed for at least 3 % of the step, at least half of it in the last one",
     .severity = "by the model of buckets: present exposure less that of the best cap; "
                 "without a model the last bucket's exposed transfer, an upper bound",
     .guard =
         "one bucket; the best cap gains less than 1 %; waiting for other ranks does not count",
     .suppressed_by =
         "comm.gloo-on-gpu, comm.sync-each-microbatch, comm.slow-group, comm.no-overlap, "
         "comm.order-blocked, comm.small-messages",
     .advice =
         "smaller buckets (bucket_cap_mb), so that the last one is sent sooner and is smaller",
     .detect = comm::exposed_tail},
    {.name = "comm.small-messages",
     .finds =
         "half of the collectives of a step are smaller than the size at which half of the bandwidth is reached, and their latency is 3 % of the step",
     .severity = "upper bound: the latency of all but one of them, at most the exposed transfer",
     .guard = "no fitted link; fewer than two collectives a step",
     .suppressed_by =
         "comm.gloo-on-gpu, comm.sync-each-microbatch, comm.slow-group, comm.small-collectives",
     .advice = "fewer and larger collectives: a larger bucket_cap_mb, one call for many tensors "
               "(coalescing), small tensors in one flat one",
     .detect = comm::small_messages},
    {.name = "comm.link-saturated",
     .finds =
         "gradients move for longer than backward lasts, at 80 % of the best bandwidth of their size or more",
     .severity = "upper bound: half of the exposed transfer, as for half of the bytes",
     .guard = "transfers shorter than backward; low bandwidth (comm.low-bandwidth)",
     .suppressed_by = "comm.gloo-on-gpu, comm.sync-each-microbatch, comm.slow-group",
     .advice =
         "16-bit gradients (a communication hook), gradient accumulation with no_sync, a larger batch, a faster network",
     .detect = comm::link_saturated},
    {.name = "comm.low-bandwidth",
     .finds =
         "collectives of 1 MiB or more reach less than 60 % of the best bandwidth of their function and size in this run",
     .severity = "upper bound: the part of their exposed transfers beyond that bandwidth",
     .guard = "fewer than 20 of them; no other group that reaches 80 % with transfers like these: "
              "then it is fluctuation; waiting for members does not count",
     .suppressed_by = "comm.gloo-on-gpu, comm.slow-group, comm.contention, balance.straggler",
     .advice = "look at the path: interface and NUMA node, GPU-direct, NVLink, NCCL's transport "
               "(NCCL_DEBUG=INFO); for Gloo the interface (GLOO_SOCKET_IFNAME)",
     .detect = comm::low_bandwidth},
    {.name = "comm.contention",
     .finds = "operators take 1.15 times as long beside a collective, or more",
     .severity = "upper bound: computation beside collectives, less what it takes alone",
     .guard = "a factor within the operators' own spread; below 1 % of the step",
     .suppressed_by = "",
     .advice = "fewer channels for the communication, or cores of its own",
     .detect = comm::contention},
    {.name = "comm.needless-barrier",
     .ids = "M7",
     .finds = "barriers in 80 % of the steady steps, or now and then for 1 % of the step",
     .severity = "upper bound: waiting in barriers and passing through them",
     .guard = "barriers in checkpoints",
     .suppressed_by = "balance.straggler",
     .advice = "take the barrier out: the collectives of the gradients keep the ranks together; "
               "to measure times, no barrier is needed with dprof",
     .detect = comm::needless_barrier},
    {.name = "comm.buffer-broadcast",
     .finds = "broadcasts in the forward of 80 % of the steady steps",
     .severity = "upper bound: their exposed time",
     .guard = "below 1 % of the step",
     .suppressed_by = "comm.gloo-on-gpu, comm.slow-group, balance.straggler",
     .advice =
         "broadcast_buffers=False, if ranks may have buffers of their own (running statistics of batch normalisation)",
     .detect = comm::buffer_broadcast},
    {.name = "comm.small-collectives",
     .finds =
         "two or more collectives a step of less than 64 KiB, in no bucket, outside of forward and backward",
     .severity = "upper bound: their transfers",
     .guard = "below 1 % of the step; synchronised batch normalisation",
     .suppressed_by = "comm.gloo-on-gpu, comm.slow-group",
     .advice =
         "put the metrics of a step into one tensor, exchange them every N steps, or async_op=True",
     .detect = comm::small_collectives},
    {.name = "comm.gather-exposed",
     .finds =
         "all-gathers in the forward or backward of 80 % of the steps, exposed for 3 % of the step",
     .severity = "upper bound: their exposed transfers",
     .guard = "gathered after the optimizer (ZeRO-1, ZeRO-2)",
     .suppressed_by = "comm.gloo-on-gpu, comm.slow-group",
     .advice =
         "prefetch (forward_prefetch, backward_prefetch=BACKWARD_PRE), larger units to wrap, reshard_after_forward=False where memory allows",
     .detect = comm::gather_exposed},
    {.name = "comm.all-to-all-imbalance",
     .finds = "the rank that gives most to an all-to-all gives more than 1.3 times the mean",
     .severity = "upper bound: waiting in them, and transfers beyond the mean's share",
     .guard = "bytes were not recorded; below 1 % of the step",
     .suppressed_by = "comm.slow-group",
     .advice = "a loss that balances the experts, a capacity factor, tables divided by their use",
     .detect = comm::all_to_all_imbalance},
    {.name = "comm.exposed-transfer",
     .finds = "transfers that no computation hides, of any kind",
     .severity = "upper bound: median over ranks of the exposed transfer",
     .guard = "below 1 % of the step",
     .suppressed_by =
         "comm.gloo-on-gpu, comm.slow-group, comm.sync-each-microbatch, comm.server-bottleneck, "
         "comm.no-overlap, comm.order-blocked, comm.exposed-tail, comm.small-messages, "
         "comm.link-saturated, comm.low-bandwidth, comm.buffer-broadcast, comm.small-collectives, "
         "comm.gather-exposed, comm.all-to-all-imbalance, comm.blocking-wait, "
         "host.false-dependency, parallel.bubble",
     .advice = "more overlap, or fewer bytes",
     .detect = comm::exposed_transfer},
    {.name = "comm.bucket-copies",
     .finds = "DDP copies each gradient into its bucket and back, for at least 1 % of the step",
     .severity = "upper bound: time of these copies, on the device where there is one",
     .guard =
         "gradients are views of their buckets; operators were not recorded (detail full has them)",
     .suppressed_by = "",
     .advice =
         "gradient_as_bucket_view=True in DistributedDataParallel: "
         "a gradient then lives in its bucket, which also saves memory of the gradients' size",
     .detect = comm::bucket_copies},
    {.name = "comm.blocking-wait",
     .finds =
         "backward calls reductions of gradients and stands still until each is done, though it has more to compute, in 80 % of the steps",
     .severity =
         "upper bound: transfers of all but the last in a backward, at most what backward computes after them",
     .guard =
         "fewer than two in a backward; computation goes on beside them; "
         "groups that exchange tensors in forward, or outside of every phase, too (tensor parallelism, synchronised normalisation, FSDP): "
         "their backward needs the result. "
         "Waits elsewhere: which computation reads a collective's result is not recorded",
     .suppressed_by = "comm.gloo-on-gpu",
     .advice =
         "no rank needs the reduced gradients before the optimizer: call with async_op=True and wait there; "
         "in a communication hook return the future instead of waiting for it; or leave it to DistributedDataParallel; "
         "unset TORCH_NCCL_BLOCKING_WAIT",
     .detect = comm::blocking_wait},
};

}  // namespace

std::span<const Rule> comm_rules() { return kCommRules; }

}  // namespace dprof::analyzer
