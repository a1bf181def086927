// SPDX-License-Identifier: Apache-2.0
// Automatic mixed precision: autocast for the forward pass, and a loss scaler, so that small fp16
// gradients do not vanish.
#pragma once

#include <torch/types.h>

#include <vector>

#include "trainer_harness/settings/options.h"

namespace dprof::trainer_harness {

// Used by the training thread.
class Precision {
 public:
  explicit Precision(Amp amp, bool scales) : amp_(amp), scales_(scales) {}

  // While it lives, operations of this thread that gain by it run in 16 bits.
  class Autocast {
   public:
    Autocast(const Precision&, torch::Device) {}
    ~Autocast() {}
    Autocast(const Autocast&) = delete;
    Autocast& operator=(const Autocast&) = delete;
  };
  [[nodiscard]] Autocast autocast(torch::Device device) const { return Autocast(*this, device); }

  [[nodiscard]] bool scales() const { return scales_; }

  // What backward starts from.
  [[nodiscard]] torch::Tensor scale(const torch::Tensor& loss) const { return loss; }

  // Divides the gradients of `parameters` by the scale. Gives a one-element fp32 tensor that is
  // above 0 where one of them is not finite. Ranks that hold different gradients must agree on it
  // (MAX) before update().
  [[nodiscard]] torch::Tensor unscale(const std::vector<torch::Tensor>& parameters);

  // After the decision: halves the scale after an overflow, doubles it after many good steps.
  void update(const torch::Tensor& found_inf);

 private:
  Amp amp_;
  bool scales_;
};

}  // namespace dprof::trainer_harness
