// SPDX-License-Identifier: Apache-2.0
// Automatic mixed precision: autocast for the forward pass, and a loss scaler, so that small fp16
// gradients do not vanish.
//
// LibTorch has the building blocks of both, but not Python's classes.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "trainer_harness/common/log.h"
#include "trainer_harness/settings/options.h"

namespace dprof::trainer_harness {

// Used by the training thread. Parameters and gradients stay fp32; only the computations of forward
// and backward use 16 bits.
class Precision {
 public:
  // Set up by the options. With --mistake amp-no-zero the scale starts at a long run's value, so
  // that a short run overflows as a long one does.
  explicit Precision(const Options& options);

  // During its lifetime, operations of this thread that benefit run in 16 bits. Autocasts nest;
  // casts of the parameters are cached until the outermost one ends.
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

  // The scaled loss, from which backward starts.
  [[nodiscard]] torch::Tensor scale(const torch::Tensor& loss);

  // Divides the gradients of `parameters` by the scale. Returns a one-element fp32 tensor on
  // `device` that is above 0 if a gradient is not finite. Ranks that hold different gradients must
  // reduce it (MAX) before update().
  [[nodiscard]] torch::Tensor unscale(const std::vector<torch::Tensor>& parameters,
                                      torch::Device device);

  // Halves the scale after an overflow, doubles it after many good steps. Returns whether there was
  // an overflow, for which it waits for the device; the optimizer's step must then be skipped.
  [[nodiscard]] bool update(const torch::Tensor& found_inf);

  // Steps that the scaler has skipped so far.
  [[nodiscard]] int64_t skipped_steps() const { return skipped_steps_; }

  // Called at the end: logs the number of overflows. Silent without a scaler.
  void report(const Log& log) const;

 private:
  void make_scale(torch::Device device);

  Amp amp_;
  bool scales_;
  float first_scale_;
  torch::Tensor scale_;
  torch::Tensor good_steps_;  // since the last change of scale
  int64_t steps_ = 0;
  int64_t skipped_steps_ = 0;
};

}  // namespace dprof::trainer_harness
