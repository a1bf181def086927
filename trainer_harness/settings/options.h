// SPDX-License-Identifier: Apache-2.0
// The command line of dprof-trainer. An empty optional means the model's or the strategy's default.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "trainer_harness/faults/fault.h"
#include "trainer_harness/ranks/rendezvous.h"

namespace CLI {
class App;
}

namespace dprof::trainer_harness {

enum class StrategyKind : uint8_t {
  kSingle,
  kDdp,
  kDp,
  kModelParallel,
  kParameterServer,
  kZero1,
  kZero2,
  kZero3,
};
enum class SamplerKind : uint8_t { kRandom, kSequential, kNone };
enum class MarkKind : uint8_t { kUserScope, kNvtx, kNone };
enum class OptimizerKind : uint8_t { kSgd, kAdam, kCustom };
enum class Amp : uint8_t { kOff, kBf16, kFp16 };
enum class Compression : uint8_t { kNone, kFp16, kTopK };
enum class Schedule : uint8_t { kGpipe, k1F1B };
enum class ServerMode : uint8_t { kSync, kAsync };
enum class Uneven : uint8_t { kPad, kDrop, kJoin, kSkew };
enum class Metrics : uint8_t { kNone, kAllGather, kReduce };
enum class BarrierKind : uint8_t { kNone, kEpoch, kStep };
enum class SaveBy : uint8_t { kRank0, kLocal0, kAll };
// Common user errors: those of the guides' M1 to M24 that no other option makes.
enum class Mistake : uint8_t {
  kNone,
  kNoDdp,
  kRank0Barrier,
  kRendezvous,
  kDoubleInit,
  kOneDevice,
  kNcclCpu,
  kModelParallelOneDevice,
  kUnused,
  kPartialWindow,
  kAmpNoZero,
  kShape,
};

struct TrainingOptions {
  std::string model = "convnet";
  std::optional<int64_t>
      steps;  // optimizer updates, even within an epoch; else `epochs` whole epochs
  std::optional<int64_t> epochs;
  std::optional<int64_t> batch;         // samples per rank and micro-step
  std::optional<int64_t> global_batch;  // samples of all ranks together per micro-step
  std::optional<OptimizerKind> optimizer;
  std::optional<double> learning_rate;
  std::optional<double> momentum;
  std::optional<double> clip_norm;
  uint64_t seed = 42;
  bool rank_seed = true;   // different random numbers on each rank after construction
  int64_t accumulate = 1;  // micro-steps per update
  bool no_sync = true;     // while accumulating, gradients are reduced in the last micro-step only
  Amp amp = Amp::kOff;
  std::optional<bool> grad_scaler;  // default: with fp16
  bool recompute = false;           // activation checkpointing
  bool sync_bn = false;
  int64_t loss_every = 20;  // steps between two readings of the loss
};

struct DistributionOptions {
  std::optional<StrategyKind> strategy;  // default: ddp with ranks, single without
  Backend backend = Backend::kGloo;
  int64_t timeout_s = 60;
  double bucket_mb = 25;
  std::optional<double> first_bucket_mb;  // default: 1, where bucket_mb is not smaller
  bool overlap = true;                    // false: gradients are reduced after backward
  bool find_unused = false;
  bool static_graph = false;
  bool bucket_view = false;
  Compression compression = Compression::kNone;
  double top_k = 0.01;        // share of the gradients that a rank sends
  int dp_replicas = 2;        // DataParallel on the CPU; on GPUs: all visible ones
  int64_t micro_batches = 4;  // of a pipeline
  Schedule schedule = Schedule::kGpipe;
  ServerMode server_mode = ServerMode::kSync;
  std::vector<std::string> device_of_rank;  // "cpu", "cuda:1"
  std::vector<int> threads_of_rank;
  std::optional<int> threads;  // of every rank
  std::vector<double> shares;  // of the global batch, by rank
  int64_t rebalance_every = 0;
  Metrics metrics = Metrics::kNone;
  int64_t metrics_every = 10;
  BarrierKind barrier = BarrierKind::kNone;
};

struct DataOptions {
  SamplerKind sampler = SamplerKind::kRandom;
  bool set_epoch = true;
  int64_t loader_workers = 0;  // threads
  Uneven uneven = Uneven::kPad;
  double skew = 1;  // kSkew: rank 0's share of the data, as a multiple of the others'
  std::optional<int64_t> image_size;
  std::optional<int64_t> samples;  // size of the data set; default: the model's
};

struct OutputOptions {
  std::filesystem::path checkpoint;  // a folder; empty: none is saved
  int64_t checkpoint_every = 0;      // steps; 0: at the end only
  SaveBy save_by = SaveBy::kRank0;
  bool module_prefix = false;  // names in the file begin with "module."
  bool resume = false;
  int64_t log_every = 20;
  bool log_every_rank = false;
  int64_t memory_every = 0;
  int64_t empty_cache_every = 0;
  int64_t monitor_every = 0;
  MarkKind marks = MarkKind::kUserScope;
  std::filesystem::path truth;  // a file; empty: none is written
};

struct LaunchOptions {
  std::optional<int> spawn;  // number of ranks to start as children
  std::optional<int> local_rank;
  std::optional<int> nodes;
  std::optional<int> node_rank;
  bool elastic = false;
  std::optional<int> nice;
  std::string affinity;  // cores of each rank: "0;1", "0-1"
  std::filesystem::path matrix;
  std::string matrix_command;  // starts each run of the matrix; empty: --spawn
  bool list = false;
  bool check_env = false;
};

struct Options {
  TrainingOptions training;
  DistributionOptions distribution;
  DataOptions data;
  OutputOptions output;
  LaunchOptions launch;
  std::vector<Fault> faults;
  Mistake mistake = Mistake::kNone;
};

// The given strategy; by default ddp with ranks, single without.
[[nodiscard]] StrategyKind chosen_strategy(const Options& options, bool has_ranks);

// Adds the options to `app`, which fills `options` when it parses. check_options.h has the checks
// that involve several options.
void declare_options(CLI::App& app, Options& options);

}  // namespace dprof::trainer_harness
