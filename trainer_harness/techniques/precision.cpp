// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/techniques/precision.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_amp_update_scale.h>

namespace dprof::trainer_harness {
namespace {

// As in torch.amp.GradScaler.
constexpr float kFirstScale = 65536;
constexpr double kGrowth = 2;
constexpr double kBackOff = 0.5;
constexpr int64_t kGrowthInterval = 2000;  // good steps

constexpr float kGrownScale = kFirstScale * 256;  // after 16,000 good steps

}  // namespace

Precision::Precision(const Options& options)
    : amp_(options.training.amp),
      scales_(options.training.grad_scaler.value_or(amp_ == Amp::kFp16)),
      first_scale_(options.mistake == Mistake::kAmpNoZero ? kGrownScale : kFirstScale) {}

Precision::Autocast::Autocast(const Precision& precision, torch::Device device)
    : active_(precision.amp_ != Amp::kOff), device_(device.type()) {
  if (!active_) return;
  was_enabled_ = at::autocast::is_autocast_enabled(device_);
  old_type_ = at::autocast::get_autocast_dtype(device_);
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::set_autocast_dtype(
      device_, precision.amp_ == Amp::kBf16 ? torch::kBFloat16 : torch::kFloat16);
  at::autocast::increment_nesting();
}

Precision::Autocast::~Autocast() {
  if (!active_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, was_enabled_);
  at::autocast::set_autocast_dtype(device_, old_type_);
}

void Precision::make_scale(torch::Device device) {
  if (scale_.defined()) return;
  scale_ = torch::full({1}, first_scale_, device);
  good_steps_ = torch::zeros({1}, torch::dtype(torch::kInt32).device(device));
}

torch::Tensor Precision::scale(const torch::Tensor& loss) {
  if (!scales_) return loss;
  make_scale(loss.device());
  return loss * scale_.squeeze();
}

torch::Tensor Precision::unscale(const std::vector<torch::Tensor>& parameters,
                                 torch::Device device) {
  make_scale(device);
  torch::Tensor found_inf = torch::zeros({1}, device);
  std::vector<torch::Tensor> gradients;
  for (const torch::Tensor& parameter : parameters) {
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  }
  if (!gradients.empty()) {
    const torch::NoGradGuard no_grad;
    // In fp64, since a scale near the limit of fp32 has no reciprocal in fp32.
    const torch::Tensor inverse = scale_.to(torch::kFloat64).reciprocal().to(torch::kFloat32);
    at::_amp_foreach_non_finite_check_and_unscale_(gradients, found_inf, inverse);
  }
  return found_inf;
}

bool Precision::update(const torch::Tensor& found_inf) {
  at::_amp_update_scale_(scale_, good_steps_, found_inf, kGrowth, kBackOff, kGrowthInterval);
  const bool overflow = found_inf.item<float>() > 0;
  ++steps_;
  if (overflow) ++skipped_steps_;
  return overflow;
}

void Precision::report(const Log& log) const {
  if (!scales_ || !scale_.defined()) return;
  log.info("grad scaler: skipped " + std::to_string(skipped_steps_) + " of " +
           std::to_string(steps_) + " steps, scale " + std::to_string(scale_.item<float>()));
}

}  // namespace dprof::trainer_harness
