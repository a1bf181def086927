// SPDX-License-Identifier: Apache-2.0
// Options for how the ranks share the work and communicate.
#include <limits>

#include "trainer_harness/common/usage_error.h"
#include "trainer_harness/settings/catalogue.h"
#include "trainer_harness/settings/declare.h"

namespace dprof::trainer_harness {
namespace {

void read_compression(DistributionOptions& to, const std::string& text) {
  if (text == "none") {
    to.compression = Compression::kNone;
  } else if (text == "fp16") {
    to.compression = Compression::kFp16;
  } else if (text.starts_with("topk:")) {
    to.compression = Compression::kTopK;
    to.top_k = real_number("--grad-compress", text.substr(5));
    if (to.top_k <= 0 || to.top_k > 1) {
      throw UsageError("--grad-compress " + text +
                       ": the share is not above 0, up to 1\nhint: topk:0.01 sends one in 100");
    }
  } else {
    throw UsageError("--grad-compress " + text + " is not known\nhint: none, fp16 or topk:0.01");
  }
}

void declare_unequal_ranks(Group& group, DistributionOptions& to) {
  group.text(
      "--device-of-rank", "LIST", "heterogeneous ranks: each one's device, as in cpu,cuda:0",
      [&to](const std::string& text) { to.device_of_rank = pieces_of("--device-of-rank", text); });
  group.value("--threads", to.threads, "N", "computing threads of each rank")->check(above_zero());
  group.text("--threads-of-rank", "LIST",
             "unequal ranks on one machine: threads of each, as in 4,1",
             [&to](const std::string& text) {
               to.threads_of_rank.clear();
               for (const std::string& piece : pieces_of("--threads-of-rank", text)) {
                 const int64_t threads = whole_number("--threads-of-rank", piece, 1);
                 if (threads > std::numeric_limits<int>::max()) {
                   throw UsageError("--threads-of-rank: " + piece + " threads are too many\n" +
                                    "hint: at most as many as there are cores");
                 }
                 to.threads_of_rank.push_back(static_cast<int>(threads));
               }
             });
  group.text("--shares", "LIST",
             "static load balancing: how the global batch is divided, as in 3,1 (ddp)",
             [&to](const std::string& text) {
               to.shares.clear();
               for (const std::string& piece : pieces_of("--shares", text)) {
                 to.shares.push_back(real_number("--shares", piece));
               }
             });
  group
      .value(
          "--rebalance", to.rebalance_every, "K",
          "dynamic load balancing: divide the global batch anew every K steps, by measured throughput (ddp)")
      ->check(above_zero());
}

}  // namespace

void declare_strategy(CLI::App& app, Options& options) {
  DistributionOptions& to = options.distribution;
  Group group(app, "Strategy");
  std::vector<std::pair<std::string, StrategyKind>> strategies;
  for (const StrategyRow& row : strategy_rows()) strategies.emplace_back(row.word, row.kind);
  group.choice<StrategyKind>("--strategy", to.strategy, strategies,
                             "how the ranks share the work (default: ddp with ranks, else single)");
  group.value("--dp-replicas", to.dp_replicas, "N", "dp on the CPU: replicas, a thread for each")
      ->check(above_zero())
      ->capture_default_str();
  group
      .value("--micro-batches", to.micro_batches, "M",
             "model-parallel: parts of a batch in flight; 1: naive, stages idle (mistake M22)")
      ->check(above_zero())
      ->capture_default_str();
  group.choice<Schedule>("--pipeline", to.schedule,
                         {{"gpipe", Schedule::kGpipe}, {"1f1b", Schedule::k1F1B}},
                         "model-parallel: all forwards first, or one forward, one backward");
  group.choice<ServerMode>("--ps-mode", to.server_mode,
                           {{"sync", ServerMode::kSync}, {"async", ServerMode::kAsync}},
                           "parameter-server: a round for all workers, or each by itself");
  declare_unequal_ranks(group, to);
}

void declare_communication(CLI::App& app, Options& options) {
  DistributionOptions& to = options.distribution;
  Group group(app, "Communication");
  group.choice<Backend>("--backend", to.backend,
                        {{"gloo", Backend::kGloo}, {"nccl", Backend::kNccl}},
                        "what carries the gradients: Gloo for the CPU, NCCL trains on the GPUs");
  group
      .value("--timeout", to.timeout_s, "SECONDS", "give up waiting for other ranks after so long")
      ->check(above_zero())
      ->capture_default_str();
  group
      .value("--bucket-mb", to.bucket_mb, "MIB", "DDP buckets: gradients that are reduced together")
      ->check(above_zero())
      ->capture_default_str();
  group
      .value("--first-bucket-mb", to.first_bucket_mb, "MIB",
             "DDP's first bucket, small so that communication starts early")
      ->check(above_zero());
  group.on_off("--overlap", to.overlap, "reduce gradients during backward; off: after it");
  group.on_off("--find-unused", to.find_unused,
               "DDP find_unused_parameters: models in which some parameters get no gradient");
  group.on_off("--static-graph", to.static_graph,
               "DDP static_graph: the same parameters are used in each step");
  group.on_off("--bucket-view", to.bucket_view,
               "DDP gradient_as_bucket_view: gradients live in the buckets, one copy less");
  group
      .text("--grad-compress", "none|fp16|topk:F",
            "communication hook: send gradients in fp16, or the largest share F of them",
            [&to](const std::string& text) { read_compression(to, text); })
      ->default_str("none");
  group.choice<Metrics>(
      "--metrics", to.metrics,
      {{"none", Metrics::kNone}, {"all-gather", Metrics::kAllGather}, {"reduce", Metrics::kReduce}},
      "custom collectives: gather predictions on all ranks, reduce figures to rank 0");
  group.value("--metrics-every", to.metrics_every, "K", "steps between two of these")
      ->check(above_zero())
      ->capture_default_str();
  group.choice<BarrierKind>(
      "--barrier", to.barrier,
      {{"none", BarrierKind::kNone}, {"epoch", BarrierKind::kEpoch}, {"step", BarrierKind::kStep}},
      "wait for all ranks, without need (mistake M7)");
}

}  // namespace dprof::trainer_harness
