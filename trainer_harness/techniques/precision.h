// SPDX-License-Identifier: Apache-2.0
// Automatic mixed precision: autocast for the forward pass, and a loss scaler, so that small fp16
// gradients do not vanish.
//
// LibTorch has the parts of both, and neither of the classes that Python has.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "trainer_harness/common/log.h"
#include "trainer_harness/settings/options.h"

namespace dprof::trainer_harness {

// Used by the training thread. Parameters and gradients stay fp32: only what the forward pass
// computes, and backward with it, is smaller.
class Precision {
 public:
  // As the options say. With --mistake amp-no-zero the scale begins where it is in a long run, so
  // that a short one meets the overflow that such runs meet.
  explicit Precision(const Options& options);

  // While it lives, operations of this thread that gain by it run in 16 bits. They nest. The casts
  // of the parameters are kept until the outermost one ends.
  class Autocast {
   public:
    Autocast(const Precision& precision, torch::Device device);
    ~Autocast();
    Autocast(const Autocast&) = delete;
    Autocast& operator=(const Autocast&) = delete;

   private:
    bool active_;
    torch::DeviceType device_;
    bool was_enabled_ = false;
    torch::ScalarType old_type_ = torch::kFloat32;
  };
  [[nodiscard]] Autocast autocast(torch::Device device) const { return Autocast(*this, device); }

  [[nodiscard]] bool scales() const { return scales_; }

  // What backward starts from.
  [[nodiscard]] torch::Tensor scale(const torch::Tensor& loss);

  // Divides the gradients of `parameters` by the scale. Gives a one-element fp32 tensor on `device`
  // that is above 0 where one of them is not finite. Ranks that hold different gradients must agree
  // on it (MAX) before update().
  [[nodiscard]] torch::Tensor unscale(const std::vector<torch::Tensor>& parameters,
                                      torch::Device device);

  // Halves the scale after an overflow, doubles it after many good steps. Gives whether there was
  // an overflow, so that the optimizer's step is to be left out; to know that, it waits for the
  // device.
  [[nodiscard]] bool update(const torch::Tensor& found_inf);

  // So far, by the scaler.
  [[nodiscard]] int64_t skipped_steps() const { return skipped_steps_; }

  // At the end: how often there was an overflow. Silent without a scaler.
  void report(const Log& log) const;

 private:
  void make_scale(torch::Device device);

  Amp amp_;
  bool scales_;
  float first_scale_;
  torch::Tensor scale_;
  torch::Tensor good_steps_;  // since the scale changed
  int64_t steps_ = 0;
  int64_t skipped_steps_ = 0;
};

}  // namespace dprof::trainer_harness
