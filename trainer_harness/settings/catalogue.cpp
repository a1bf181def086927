// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/settings/catalogue.h"

#include <fmt/format.h>

#include <algorithm>

namespace dprof::trainer_harness {
namespace {

constexpr StrategyRow kStrategies[] = {
    {"ddp", StrategyKind::kDdp, "a replica per rank, gradients averaged in buckets in backward"},
    {"dp", StrategyKind::kDp, "DataParallel: one process, the model copied in each step"},
    {"model-parallel", StrategyKind::kModelParallel, "a part of the model per rank: a pipeline"},
    {"parameter-server", StrategyKind::kParameterServer, "the last rank serves, the others train"},
    {"single", StrategyKind::kSingle, "one process, what all others are compared with"},
    {"zero1", StrategyKind::kZero1, "ddp with the optimizer's state divided"},
    {"zero2", StrategyKind::kZero2, "and the gradients: reduce-scatter, all-gather"},
    {"zero3", StrategyKind::kZero3, "and the parameters, gathered block by block"},
};

constexpr TechniqueRow kTechniques[] = {
    {"Barrier", "--barrier none|epoch|step", "C"},
    {"BERT masked LM", "--model bert-tiny (C), bert-base (gpu)", "C, gpu"},
    {"Bottleneck localisation", "--inject KIND:rank=R,ms=D", "C"},
    {"Checkpoint, module. prefix", "--checkpoint DIR --save-by --module-prefix --resume", "C"},
    {"Communication optimisation", "--bucket-mb --overlap --grad-compress", "C"},
    {"Convolution net on 28x28 images", "--model convnet", "C"},
    {"Custom all_gather", "--metrics all-gather", "C"},
    {"Custom optimizer", "--optimizer custom", "C"},
    {"Data imbalance, uneven shards", "--uneven pad|drop|join|skew:F", "C"},
    {"DataLoader, workers", "--batch B --loader-workers W", "C"},
    {"DataParallel", "--strategy dp (C: replicas on the CPU)", "C, gpu"},
    {"DistributedDataParallel", "--strategy ddp", "C"},
    {"DistributedSampler", "--sampler random|sequential|none", "C"},
    {"Dynamic adjustment", "--rebalance K", "C"},
    {"Energy; security; growth", "none", "gpu"},
    {"Environment check", "--check-env", "C"},
    {"Fault tolerance", "--inject kill:rank=R,step=S, then --resume", "C"},
    {"Gloo backend", "--backend gloo", "C"},
    {"Gradient accumulation", "--accumulate K", "C"},
    {"GradScaler", "--grad-scaler on", "C"},
    {"Heterogeneous ranks", "--threads-of-rank LIST (C), --device-of-rank LIST (gpu)", "C, gpu"},
    {"Linear(3,1) on a toy data set", "--model toy", "C"},
    {"Load balancing", "--shares 3,1", "C"},
    {"Loss and its reading", "--loss-every K", "C"},
    {"Memory monitoring", "--memory-every K (C: resident memory)", "C, gpu"},
    {"Memory optimisation, empty_cache", "--empty-cache-every K", "gpu"},
    {"Mixed precision, autocast", "--amp bf16 (C), fp16 (gpu)", "C, gpu"},
    {"Model parallelism", "--strategy model-parallel --micro-batches M --pipeline", "C, gpu"},
    {"mp.spawn, process per rank", "--spawn N", "C"},
    {"Multi-node", "--nnodes M --node-rank I", "C"},
    {"NCCL backend", "--backend nccl", "gpu"},
    {"no_sync", "--no-sync on|off", "C"},
    {"Parameter server", "--strategy parameter-server --ps-mode sync|async", "C"},
    {"Performance monitoring", "--monitor-every K", "C"},
    {"Placeholders; any width of layers", "--model mlp:WIDTHS --data synthetic", "C"},
    {"Process group: init, use, destroy", "always", "C"},
    {"Rank-0-only logging", "--log-rank 0|all", "C"},
    {"Reduce for metrics", "--metrics reduce --metrics-every K", "C"},
    {"Rendezvous by environment", "MASTER_ADDR, MASTER_PORT", "C"},
    {"ResNet on images", "--model resnet18 (C), resnet50 (gpu)", "C, gpu"},
    {"Resource scheduling", "--nice --affinity --elastic", "C"},
    {"Ring all-reduce, gradient sync", "--strategy ddp", "C"},
    {"Seeds", "--seed 42 --rank-seed on", "C"},
    {"set_epoch", "--set-epoch on|off", "C"},
    {"SGD, momentum", "--optimizer sgd --lr --momentum", "C"},
    {"Single machine against distributed", "--strategy single|ddp", "C"},
    {"SyncBatchNorm", "--sync-bn", "C, gpu"},
    {"torch.distributed.launch", "--local_rank N", "C"},
    {"torchrun", "its environment", "C"},
    {"Total batch or per rank", "--batch, --global-batch", "C"},
    {"Training loop", "always", "C"},
    {"World size, rank, local rank", "RANK WORLD_SIZE LOCAL_RANK", "C"},
    {"ZeRO", "--strategy zero1|zero2|zero3", "C"},
};

constexpr MistakeRow kMistakes[] = {
    {"M1", "--sampler none", "each rank reads all of the data", "input.shards-overlap"},
    {"M2", "--set-epoch off", "the same order in each epoch", "input.order-repeats"},
    {"M3", "--accumulate 4 --no-sync off", "gradients reduced in each micro-step",
     "comm.sync-each-microbatch"},
    {"M4", "--uneven skew:1.5", "a rank has more data: the rest end early", "input.shards-uneven"},
    {"M5", "--strategy dp", "DataParallel where DDP fits", "parallel.single-process"},
    {"M6", "", "gradients are not averaged at all", "comm.no-gradient-sync", "no-ddp",
     Mistake::kNoDdp},
    {"M7", "--barrier step", "a barrier without need", "comm.needless-barrier"},
    {"M8", "", "a barrier that only rank 0 enters", "comm.hang", "rank0-barrier",
     Mistake::kRank0Barrier},
    {"M9", "", "two processes with the same rank", "startup.rendezvous", "rendezvous",
     Mistake::kRendezvous},
    {"M10", "", "the process group is initialised twice", "startup.failed", "double-init",
     Mistake::kDoubleInit},
    {"M11", "", "all ranks on one GPU (gpu)", "device.shared", "one-device", Mistake::kOneDevice},
    {"M12", "--device-of-rank cuda,cuda", "Gloo for tensors on GPUs (gpu)", "comm.gloo-on-gpu"},
    {"M13", "", "NCCL for tensors on the CPU", "startup.failed", "nccl-cpu", Mistake::kNcclCpu},
    {"M14", "", "all parts of the model on one device", "parallel.stages-share-device",
     "mp-one-device", Mistake::kModelParallelOneDevice},
    {"M15", "--loss-every 1", "the loss is read in each step", "host.sync-per-step"},
    {"M16", "--empty-cache-every 1", "the cache is given back each step (gpu)",
     "memory.cache-churn"},
    {"M17", "--strategy parameter-server", "one server for all", "comm.server-bottleneck"},
    {"M18", "", "a parameter without gradient", "comm.unfinished-reduction", "unused",
     Mistake::kUnused},
    {"M19", "--log-rank all --save-by all", "every rank prints and saves", "io.many-writers"},
    {"M20", "", "an epoch's last window gets no update", "step.partial-accumulation",
     "partial-window", Mistake::kPartialWindow},
    {"M21", "", "an AMP loop that never zeroes gradients", "amp.skipped-steps", "amp-no-zero",
     Mistake::kAmpNoZero},
    {"M22", "--micro-batches 1", "one batch in flight in a pipeline", "parallel.bubble"},
    {"M23", "--spawn 0", "a job of no ranks", "startup.no-ranks"},
    {"M24", "", "shapes that do not fit", "startup.failed", "shape", Mistake::kShape},
};

constexpr size_t kColumns = 100;

// Columns are as wide as their longest entries; lines that are too long wrap.
class Section {
 public:
  explicit Section(std::string title) : title_(std::move(title)) {}

  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  [[nodiscard]] std::string text() const {
    std::vector<size_t> widths;
    for (const std::vector<std::string>& row : rows_) {
      widths.resize(std::max(widths.size(), row.size()));
      for (size_t i = 0; i + 1 < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string text = title_ + "\n";
    for (const std::vector<std::string>& row : rows_) {
      std::string line = " ";
      for (size_t i = 0; i + 1 < row.size(); ++i) {
        line += fmt::format(" {:<{}} ", row[i], widths[i]);
      }
      const size_t indent = line.size() + 1;
      text += wrapped(line + " ", row.back(), indent);
    }
    return text;
  }

 private:
  static std::string wrapped(std::string line, std::string rest, size_t indent) {
    std::string text;
    while (line.size() + rest.size() > kColumns) {
      const size_t room = kColumns - std::min(line.size(), kColumns);
      size_t cut = rest.rfind(' ', room);
      if (cut == std::string::npos) cut = rest.find(' ');
      if (cut == std::string::npos) break;
      text += line + rest.substr(0, cut) + "\n";
      rest.erase(0, cut + 1);
      line.assign(indent, ' ');
    }
    line += rest;
    line.erase(line.find_last_not_of(' ') + 1);
    return text + line + "\n";
  }

  std::string title_;
  std::vector<std::vector<std::string>> rows_;
};

std::string option_of(const MistakeRow& row) {
  return row.word.empty() ? std::string(row.option) : fmt::format("--mistake {}", row.word);
}

Section fault_section(const std::string& slow_link) {
  Section section("Faults (--inject KIND:key=value,...)");
  std::vector<const FaultRow*> rows;
  for (const FaultRow& row : fault_catalogue()) rows.push_back(&row);
  std::ranges::sort(rows, {}, [](const FaultRow* row) { return row->name; });
  for (const FaultRow* row : rows) {
    std::string about(row->about);
    if (row->kind == FaultKind::kSlowLink && !slow_link.empty()) about += "; here: " + slow_link;
    const std::string usage = fault_usage(*row);
    const std::string keys = usage.substr(usage.find(':') + 1);
    section.add({std::string(row->name), fmt::format("{}: {}", about, keys)});
  }
  return section;
}

}  // namespace

std::span<const StrategyRow> strategy_rows() { return kStrategies; }
std::span<const TechniqueRow> technique_rows() { return kTechniques; }
std::span<const MistakeRow> mistake_rows() { return kMistakes; }

std::string_view strategy_word(StrategyKind kind) {
  for (const StrategyRow& row : kStrategies) {
    if (row.kind == kind) return row.word;
  }
  return "unknown";
}

std::string list_text(const std::vector<ModelLine>& models, const std::string& slow_link) {
  Section strategies("Strategies (--strategy)");
  for (const StrategyRow& row : kStrategies) {
    strategies.add({std::string(row.word), std::string(row.about)});
  }
  Section model_section("Models (--model)");
  std::vector<ModelLine> sorted = models;
  std::ranges::sort(sorted, {}, &ModelLine::name);
  for (const ModelLine& model : sorted) model_section.add({model.name, model.about});
  Section techniques("Techniques (C: runs on the CPU with Gloo; gpu: needs one)");
  for (const TechniqueRow& row : kTechniques) {
    techniques.add({std::string(row.name), std::string(row.runs_on), std::string(row.option)});
  }
  Section mistakes("Mistakes, and the rule of dprof that should find them");
  for (const MistakeRow& row : kMistakes) {
    mistakes.add({std::string(row.id), option_of(row), fmt::format("{}: {}", row.about, row.rule)});
  }
  return strategies.text() + "\n" + model_section.text() + "\n" + techniques.text() + "\n" +
         fault_section(slow_link).text() + "\n" + mistakes.text();
}

}  // namespace dprof::trainer_harness
