// SPDX-License-Identifier: Apache-2.0
// Synthetic samples: functions of a seed and an index, so that every rank and every run sees the
// same data set without a file.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace dprof::trainer_harness {

// What a model is fed in one micro-step. The rows of `data` and `target` are samples.
struct Batch {
  torch::Tensor data;
  torch::Tensor target;
  std::vector<size_t> indices;  // of the samples, in the data set

  [[nodiscard]] int64_t samples() const { return static_cast<int64_t>(indices.size()); }
};

// Which samples, and how much longer than usual their sequences are to be (a fault; 1 = not).
struct BatchRequest {
  std::vector<size_t> indices;
  double length_factor = 1;
  int64_t number = 0;  // counts this rank's requests, from 0

  [[nodiscard]] size_t size() const { return indices.size(); }
};

// A set of labelled samples. Threading: batch() may be called by several loader threads.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  [[nodiscard]] virtual int64_t size() const = 0;
  [[nodiscard]] virtual Batch batch(const BatchRequest& request) const = 0;
};

// Images of 1x28x28 in ten classes, as MNIST has: each class is a fixed pattern, each sample that
// pattern moved by up to two pixels under noise. Nothing is stored but the patterns and the noise.
std::shared_ptr<const SampleSource> make_digit_source(int64_t size, uint64_t seed);

// Three normal numbers and a label that has nothing to do with them, both drawn anew at each
// access.
std::shared_ptr<const SampleSource> make_coin_source(int64_t size);

}  // namespace dprof::trainer_harness
