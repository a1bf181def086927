// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/strategies/load_balance.h"

#include <ATen/DeviceAccelerator.h>

#include <algorithm>
#include <numeric>
#include <sstream>
#include <string>

#include "trainer_harness/common/usage_error.h"
#include "trainer_harness/techniques/markers.h"

namespace dprof::trainer_harness {
namespace {

constexpr double kSecondsPerNs = 1e-9;

std::string text_of(const std::vector<int64_t>& parts) {
  std::ostringstream text;
  for (size_t i = 0; i < parts.size(); ++i) text << (i == 0 ? "" : ", ") << parts[i];
  return text.str();
}

void check_usable(const Options& options) {
  if (options.data.sampler == SamplerKind::kNone || options.data.uneven != Uneven::kPad) {
    throw UsageError(
        "--shares and --rebalance divide one global batch: they do not go with --sampler none or --uneven\n"
        "hint: leave those out");
  }
  if (options.distribution.rebalance_every > 0 && options.training.sync_bn) {
    throw UsageError(
        "--rebalance does not go with --sync-bn: "
        "the ranks wait for each other within forward, so that none has a time of its own\n"
        "hint: take --shares");
  }
  if (!options.training.no_sync && options.training.accumulate > 1 &&
      options.distribution.rebalance_every > 0) {
    throw UsageError("--rebalance does not go with --no-sync off\nhint: leave --no-sync on");
  }
}

}  // namespace

bool balances_load(const Options& options) {
  return !options.distribution.shares.empty() || options.distribution.rebalance_every > 0;
}

LoadBalancedDdp::LoadBalancedDdp(Context& context)
    : Ddp(context),
      rank_(context.rank()),
      shares_(context.options.distribution.shares),
      rebalance_every_(context.options.distribution.rebalance_every) {
  check_usable(context.options);
  if (shares_.empty()) shares_.assign(static_cast<size_t>(context.world_size()), 1);
  if (rebalance_every_ == 0) return;
  // Registered after the hook of a fault that delays this gradient: the delay is own time.
  model().parameters().front().register_hook([this](const torch::Tensor& gradient) {
    if (!gradient.is_cpu()) {
      at::accelerator::getCurrentStream(gradient.device().index()).synchronize();
    }
    own_end_ns_ = now().monotonic_raw_ns;
    return gradient;
  });
}

std::optional<BatchSlice> LoadBalancedDdp::batch_slice(int64_t batch_per_rank) const {
  const int64_t total = batch_per_rank * static_cast<int64_t>(shares_.size());
  if (std::accumulate(parts_.begin(), parts_.end(), int64_t{0}) != total) {
    parts_ = divide_samples(total, shares_);
  }
  const auto own = parts_.begin() + rank_;
  return BatchSlice{std::accumulate(parts_.begin(), own, int64_t{0}), *own, total};
}

void LoadBalancedDdp::begin_update() {
  Ddp::begin_update();
  own_begin_ns_ = now().monotonic_raw_ns;
  own_waited_ns_ = 0;
}

// Ddp::before_forward() broadcasts buffers, and an early rank waits there.
void LoadBalancedDdp::before_forward(const MicroStep& which) {
  const int64_t begin_ns = now().monotonic_raw_ns;
  Ddp::before_forward(which);
  own_waited_ns_ += now().monotonic_raw_ns - begin_ns;
}

torch::Tensor LoadBalancedDdp::micro_step(const Batch& batch, const MicroStep& which) {
  const int64_t total = std::accumulate(parts_.begin(), parts_.end(), int64_t{0});
  set_loss_weight(static_cast<double>(batch.samples() * context().world_size()) /
                  static_cast<double>(total));
  torch::Tensor loss = Ddp::micro_step(batch, which);
  measured_.samples += static_cast<double>(batch.samples());
  measured_.seconds +=
      static_cast<double>(own_end_ns_ - own_begin_ns_ - own_waited_ns_) * kSecondsPerNs;
  own_begin_ns_ = now().monotonic_raw_ns;
  own_waited_ns_ = 0;
  return loss;
}

void LoadBalancedDdp::finish_update() {
  Ddp::finish_update();
  if (rebalance_every_ > 0 && (context().progress.step + 1) % rebalance_every_ == 0) rebalance();
}

void LoadBalancedDdp::rebalance() {
  const Mark mark(context().options.output.marks, kRebalanceMark);
  const auto ranks = static_cast<size_t>(context().world_size());
  const auto kind = torch::device(context().device).dtype(torch::kDouble);
  std::vector<torch::Tensor> own = {
      torch::tensor({measured_.samples, measured_.seconds}, torch::kDouble).to(context().device)};
  std::vector<std::vector<torch::Tensor>> all(1);
  for (size_t i = 0; i < ranks; ++i) all[0].push_back(torch::empty({2}, kind));
  context().job->group()->allgather(all, own)->wait();
  std::vector<RankSpeed> speeds;
  for (const torch::Tensor& one : all[0]) {
    const torch::Tensor figures = one.cpu();
    speeds.push_back({figures[0].item<double>(), figures[1].item<double>()});
  }
  parts_ = rebalanced(parts_, speeds);
  measured_ = {};
  context().log.info("step " + std::to_string(context().progress.step) +
                     " rebalanced, samples per rank: " + text_of(parts_));
}

}  // namespace dprof::trainer_harness
