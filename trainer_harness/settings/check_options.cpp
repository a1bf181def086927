// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/settings/check_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

#include "trainer_harness/common/usage_error.h"
#include "trainer_harness/settings/catalogue.h"

namespace dprof::trainer_harness {
namespace {

using enum StrategyKind;

[[noreturn]] void refuse(const std::string& what, std::string_view hint) {
  throw UsageError(fmt::format("{}\nhint: {}", what, hint));
}

void refuse_if(bool wrong, const std::string& what, std::string_view hint) {
  if (wrong) refuse(what, hint);
}

bool is_one_of(StrategyKind kind, std::initializer_list<StrategyKind> kinds) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

// Checks the strategy against the number of ranks.
void check_world(const Options& options, const JobShape& job) {
  const StrategyKind kind = chosen_strategy(options, job.has_ranks);
  const std::string strategy = fmt::format("--strategy {}", strategy_word(kind));
  if (is_one_of(kind, {kSingle, kDp})) {
    refuse_if(job.world_size > 1,
              fmt::format("{} is one process, but the job has {} ranks", strategy, job.world_size),
              "start it without ranks, or take --strategy ddp");
    return;
  }
  refuse_if(!job.has_ranks, strategy + " needs ranks, and this is a single process",
            "start it with --spawn N, dprof record -n N or torchrun --no-python");
  const bool divides_work = is_one_of(kind, {kModelParallel, kParameterServer});
  refuse_if(job.has_ranks && divides_work && job.world_size < 2,
            strategy + " needs two ranks or more, and the job has one",
            kind == kParameterServer ? "the last rank serves, the others train"
                                     : "each rank has a part of the model");
}

// Refuses options that would have no effect with the chosen strategy.
void check_strategy_options(const Options& options, const JobShape& job) {
  const DistributionOptions& given = options.distribution;
  const DistributionOptions standard;
  const StrategyKind kind = chosen_strategy(options, job.has_ranks);
  const auto only_for = [&](bool is_given, std::string_view option,
                            std::initializer_list<StrategyKind> kinds) {
    if (!is_given || is_one_of(kind, kinds)) return;
    std::string names;
    for (const StrategyKind one : kinds) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", strategy_word(one));
    }
    refuse(fmt::format("{} has no meaning with --strategy {}", option, strategy_word(kind)),
           "it is for " + names);
  };
  only_for(given.find_unused, "--find-unused", {kDdp, kZero1});
  only_for(given.static_graph, "--static-graph", {kDdp, kZero1});
  only_for(given.bucket_view, "--bucket-view", {kDdp, kZero1});
  only_for(!given.overlap, "--overlap off", {kDdp, kZero1});
  only_for(given.compression != Compression::kNone, "--grad-compress", {kDdp, kZero1});
  only_for(given.first_bucket_mb.has_value(), "--first-bucket-mb", {kDdp, kZero1});
  only_for(options.data.uneven == Uneven::kJoin, "--uneven join", {kDdp, kZero1});
  only_for(given.dp_replicas != standard.dp_replicas, "--dp-replicas", {kDp});
  only_for(!given.shares.empty(), "--shares", {kDdp});
  only_for(given.rebalance_every > 0, "--rebalance", {kDdp});
  only_for(given.micro_batches != standard.micro_batches, "--micro-batches", {kModelParallel});
  only_for(given.schedule != standard.schedule, "--pipeline", {kModelParallel});
  only_for(given.server_mode != standard.server_mode, "--ps-mode", {kParameterServer});
  only_for(options.training.sync_bn, "--sync-bn", {kDdp, kZero1, kZero2, kZero3});
  refuse_if(given.static_graph && given.find_unused,
            "--static-graph with --find-unused: a static graph finds the unused parameters once",
            "leave --find-unused out");
  refuse_if(given.backend == Backend::kNccl && !job.has_ranks, "--backend nccl needs ranks",
            "start it with --spawn N, dprof record -n N or torchrun --no-python");
  refuse_if(
      given.backend == Backend::kNccl && kind == kParameterServer,
      "--strategy parameter-server with --backend nccl: a server receives from any rank, which NCCL cannot",
      "take --backend gloo");
  const bool talks = given.metrics != Metrics::kNone || given.barrier != BarrierKind::kNone;
  refuse_if(talks && !job.has_ranks, "--metrics and --barrier are between ranks, and this is one",
            "start it with --spawn N, dprof record -n N or torchrun --no-python");
}

// Checks the options for DDP's gradient averaging.
void check_averaging(const Options& options) {
  const DistributionOptions& given = options.distribution;
  refuse_if(given.first_bucket_mb.value_or(0) > given.bucket_mb,
            "--first-bucket-mb is above --bucket-mb", "the first bucket is the smallest");
  refuse_if(
      !given.overlap && (given.compression != Compression::kNone || given.find_unused ||
                         given.static_graph || given.bucket_view),
      "--overlap off has no Reducer, and --grad-compress, --find-unused, --static-graph and --bucket-view are settings of the Reducer",
      "leave --overlap off out");
  refuse_if(
      given.compression == Compression::kTopK &&
          options.training.grad_scaler.value_or(options.training.amp == Amp::kFp16),
      "--grad-compress topk with a gradient scaler: what is kept back has another scale by the time it is sent",
      "take --amp bf16 without a scaler, or --grad-compress fp16");
  refuse_if(
      given.static_graph && options.training.accumulate > 1 && options.training.no_sync,
      "--static-graph with --accumulate: "
      "the Reducer also counts the gradients of micro-steps that are not reduced, and then reduces none",
      "leave --static-graph out, or add --no-sync off");
  if (options.data.uneven != Uneven::kJoin) return;
  refuse_if(options.mistake == Mistake::kPartialWindow,
            "--uneven join with --mistake partial-window: ranks would drop different windows",
            "take one of them");
  refuse_if(
      options.training.accumulate > 1 && !options.training.no_sync,
      "--uneven join with --no-sync off: a rank without data cannot know how many micro-steps the others have left",
      "leave --no-sync off out");
  refuse_if(!given.shares.empty() || given.rebalance_every > 0,
            "--uneven join with --shares or --rebalance: these divide each batch, not the data",
            "take one of them");
}

// Checks lists with one entry per rank.
void check_lists(const DistributionOptions& given, const JobShape& job) {
  const auto check_length = [&](std::string_view option, size_t length) {
    refuse_if(
        length != 0 && length != static_cast<size_t>(job.world_size),
        fmt::format("{} has {} entries, but the job has {} ranks", option, length, job.world_size),
        "give one for each rank, from rank 0 on");
  };
  check_length("--shares", given.shares.size());
  check_length("--device-of-rank", given.device_of_rank.size());
  check_length("--threads-of-rank", given.threads_of_rank.size());
  for (const double share : given.shares) {
    refuse_if(share <= 0, fmt::format("--shares: {} is not above 0", share),
              "each rank needs a part of the batch");
  }
  for (const std::string& device : given.device_of_rank) {
    const bool numbered =
        device.starts_with("cuda:") && device.size() > 5 && device.size() < 9 &&
        std::ranges::all_of(device.substr(5), [](unsigned char c) { return c >= '0' && c <= '9'; });
    refuse_if(device != "cpu" && device != "cuda" && !numbered,
              fmt::format("--device-of-rank: '{}' is no device", device),
              "write cpu, cuda (by local rank) or cuda:1");
  }
  refuse_if(given.threads && !given.threads_of_rank.empty(),
            "--threads contradicts --threads-of-rank", "give one of them");
}

void check_training(const Options& options) {
  const TrainingOptions& given = options.training;
  refuse_if(given.momentum && given.optimizer && *given.optimizer != OptimizerKind::kSgd,
            "--momentum is SGD's", "leave it out, or take --optimizer sgd");
}

void check_output(const Options& options) {
  const OutputOptions& given = options.output;
  if (given.checkpoint.empty()) {
    refuse_if(given.resume, "--resume without --checkpoint: from where?",
              "add --checkpoint DIR, the folder of the run before");
    refuse_if(given.checkpoint_every > 0, "--checkpoint-every without --checkpoint: to where?",
              "add --checkpoint DIR");
    refuse_if(given.save_by != SaveBy::kRank0 || given.module_prefix,
              "--save-by and --module-prefix are about what --checkpoint saves",
              "add --checkpoint DIR");
  }
  if (given.truth.empty()) return;
  const std::filesystem::path folder = std::filesystem::absolute(given.truth).parent_path();
  refuse_if(!std::filesystem::is_directory(folder),
            fmt::format("--truth {}: there is no folder {}", given.truth.string(), folder.string()),
            "make it first");
}

// Refuses a mistake whose place does not exist in this job.
void check_mistake(const Options& options, const JobShape& job) {
  const StrategyKind kind = chosen_strategy(options, job.has_ranks);
  const bool on_gpu = options.distribution.backend == Backend::kNccl;
  switch (options.mistake) {
    case Mistake::kNone:
    case Mistake::kShape:
      return;
    case Mistake::kNoDdp:
    case Mistake::kUnused:
      refuse_if(kind != kDdp, "this --mistake is one of data parallelism",
                "take --strategy ddp, with ranks");
      return;
    case Mistake::kRank0Barrier:
    case Mistake::kRendezvous:
      refuse_if(job.world_size < 2, "this --mistake is one between ranks, and there is one process",
                "start it with --spawn 2");
      return;
    case Mistake::kDoubleInit:
    case Mistake::kNcclCpu:
      refuse_if(!job.has_ranks, "this --mistake is about the process group, and there is none",
                "start it with --spawn 2");
      refuse_if(options.mistake == Mistake::kNcclCpu && on_gpu,
                "--mistake nccl-cpu trains on the CPU", "leave --backend nccl out");
      return;
    case Mistake::kOneDevice:
      refuse_if(!on_gpu || job.world_size < 2,
                "--mistake one-device needs a gpu: all ranks train on the first",
                "take --backend nccl and two ranks, on a machine with GPUs");
      return;
    case Mistake::kModelParallelOneDevice:
      refuse_if(kind != kModelParallel, "--mistake mp-one-device is one of model parallelism",
                "add --strategy model-parallel");
      return;
    case Mistake::kPartialWindow:
      refuse_if(options.training.accumulate < 2,
                "--mistake partial-window is one of gradient accumulation", "add --accumulate 4");
      return;
    case Mistake::kAmpNoZero:
      refuse_if(options.training.amp != Amp::kFp16 || !options.training.grad_scaler.value_or(true),
                "--mistake amp-no-zero is one of fp16 loops with a gradient scaler",
                "add --amp fp16");
      return;
  }
}

}  // namespace

void check_launch(const Options& options) {
  const LaunchOptions& given = options.launch;
  refuse_if(given.spawn == 0, "--spawn 0: no ranks",
            "without GPUs take the number of ranks that shall train on the CPU, as in --spawn 2");
  refuse_if(given.nodes && !given.spawn, "--nnodes without --spawn: how many ranks on each host?",
            "add --spawn N; other launchers say it in the environment");
  refuse_if(given.node_rank && !given.nodes, "--node-rank without --nnodes: of how many hosts?",
            "add --nnodes M");
  refuse_if(given.nodes && *given.nodes > 1 && !given.node_rank,
            "--nnodes without --node-rank: which of the hosts is this?", "add --node-rank I");
  refuse_if(given.node_rank && *given.node_rank >= *given.nodes,
            fmt::format("--node-rank {} of {} hosts", given.node_rank.value_or(0),
                        given.nodes.value_or(0)),
            "hosts count from 0");
  if (given.elastic) {
    refuse_if(!given.spawn, "--elastic without --spawn: only what starts the ranks can start anew",
              "add --spawn N; torchrun has --max-restarts");
    refuse_if(given.nodes.value_or(1) > 1, "--elastic is for one host",
              "leave --nnodes out; torchrun's --nnodes 1:2 is elastic over hosts");
    refuse_if(options.output.checkpoint.empty() || options.output.checkpoint_every == 0,
              "--elastic goes on from a checkpoint, and none is saved on the way",
              "add --checkpoint DIR --checkpoint-every K");
    const DistributionOptions& lists = options.distribution;
    refuse_if(
        !lists.shares.empty() || !lists.device_of_rank.empty() || !lists.threads_of_rank.empty(),
        "--elastic with a list that has an entry for each rank: their number changes",
        "leave out --shares, --device-of-rank and --threads-of-rank");
  }
  refuse_if(!given.matrix.empty() && given.spawn, "--spawn contradicts --matrix",
            "a line of the matrix says ranks=N");
  refuse_if(given.matrix.empty() && !given.matrix_command.empty(),
            "--matrix-command without --matrix: for which runs?", "add --matrix FILE");
}

void check_options(const Options& options, const JobShape& job) {
  check_world(options, job);
  check_strategy_options(options, job);
  check_averaging(options);
  check_lists(options.distribution, job);
  check_training(options);
  check_output(options);
  check_mistake(options, job);
  if (!job.restarted) check_faults(options.faults, job.world_size);
}

}  // namespace dprof::trainer_harness
