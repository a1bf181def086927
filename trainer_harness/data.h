// SPDX-License-Identifier: Apache-2.0
// Where batches come from: synthetic samples, shared out among the ranks and loaded by torch's own
// DataLoader.
#pragma once

#include <torch/data.h>

#include <cstdint>
#include <memory>

#include "trainer_harness/options.h"

namespace dprof::trainer_harness {

using Batch = torch::data::Example<torch::Tensor, torch::Tensor>;

// A set of labelled samples.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  [[nodiscard]] virtual int64_t size() const = 0;
  [[nodiscard]] virtual Batch batch(torch::ArrayRef<size_t> indices) const = 0;
};

// Images of 1x28x28 in ten classes, as MNIST has: each class is a fixed pattern, each sample that
// pattern moved by up to two pixels under noise. A sample is a function of seed and index; nothing
// is stored but the patterns and the noise.
std::shared_ptr<const SampleSource> make_digit_source(int64_t size, uint64_t seed);

// Three normal numbers and a label that has nothing to do with them, both drawn anew at each
// access.
std::shared_ptr<const SampleSource> make_coin_source(int64_t size);

// A dataset for torch's DataLoader, which wants a type that it can copy.
class SourceDataset : public torch::data::datasets::BatchDataset<SourceDataset, Batch> {
 public:
  explicit SourceDataset(std::shared_ptr<const SampleSource> source) : source_(std::move(source)) {}

  Batch get_batch(torch::ArrayRef<size_t> indices) override { return source_->batch(indices); }
  [[nodiscard]] std::optional<size_t> size() const override {
    return static_cast<size_t>(source_->size());
  }

 private:
  std::shared_ptr<const SampleSource> source_;
};

using SharedSampler = std::shared_ptr<torch::data::samplers::DistributedSampler<>>;

// This rank's share of `size` samples. Shares are equally long: the last samples are given twice
// where they must be.
[[nodiscard]] SharedSampler make_sampler(SamplerKind kind, int64_t size, int world_size, int rank);

// make_data_loader keeps a copy of its sampler, so that set_epoch on one's own would change
// nothing; this passes on to the shared one.
class ForwardingSampler : public torch::data::samplers::Sampler<> {
 public:
  explicit ForwardingSampler(SharedSampler sampler) : sampler_(std::move(sampler)) {}

  void reset(std::optional<size_t> size = std::nullopt) override { sampler_->reset(size); }
  std::optional<std::vector<size_t>> next(size_t batch_size) override {
    return sampler_->next(batch_size);
  }
  void save(torch::serialize::OutputArchive& archive) const override { sampler_->save(archive); }
  void load(torch::serialize::InputArchive& archive) override { sampler_->load(archive); }

 private:
  SharedSampler sampler_;
};

}  // namespace dprof::trainer_harness
