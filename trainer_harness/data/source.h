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

// Samples [begin, begin + count) of a batch of `total`.
struct BatchSlice {
  int64_t begin = 0;
  int64_t count = 0;
  int64_t total = 0;

  bool operator==(const BatchSlice&) const = default;
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

// One number for the samples of a batch, whatever their order: the sum, modulo 2^64, of a mixed
// form of each index. That of several batches is the sum of theirs; equal sets have equal hashes,
// and others hardly ever.
[[nodiscard]] uint64_t index_hash(const Batch& batch);

// Images of 1x28x28 in ten classes, as MNIST has: each class is a fixed pattern, each sample that
// pattern moved by up to two pixels under noise. Nothing is stored but the patterns and the noise.
std::shared_ptr<const SampleSource> make_digit_source(int64_t size, uint64_t seed);

// Three normal numbers and a label that has nothing to do with them, both drawn anew at each
// access.
std::shared_ptr<const SampleSource> make_coin_source(int64_t size);

inline constexpr int64_t kMinImageSide = 8;

// Images of three channels: each class is a pattern of coloured squares, each sample that pattern
// moved a little, under noise.
struct ImageSet {
  int64_t samples = 0;
  int64_t side = 0;  // pixels, at least kMinImageSide
  int64_t classes = 0;
  uint64_t seed = 0;
};
std::shared_ptr<const SampleSource> make_image_source(const ImageSet& set);

// What a language model is to guess: words that are masked (15 % of them), or each next one.
enum class TokenTask : uint8_t { kMasked, kNext };

// Sentences in which most words follow from the one before. `data` and `target` are int64 tokens;
// where nothing is to be guessed, the target is -100. How long the sequences of a batch are depends
// on its first sample.
struct TokenSet {
  int64_t samples = 0;
  TokenTask task = TokenTask::kMasked;
  int64_t words = 0;  // that sentences are made of; tokens are up to words + 3
  int64_t min_length = 0;
  int64_t max_length = 0;
  int64_t positions = 0;  // no sequence is longer, whatever the fault
  uint64_t seed = 0;
};
std::shared_ptr<const SampleSource> make_token_source(const TokenSet& set);

// Points around the centres of classes.
struct ClusterSet {
  int64_t samples = 0;
  int64_t features = 0;
  int64_t classes = 0;
  uint64_t seed = 0;
};
std::shared_ptr<const SampleSource> make_cluster_source(const ClusterSet& set);

// Numbers and categories, and whether somebody clicked: a hidden linear model tells. `data` has the
// numbers, then per table the row (a whole number, exact below 2^24).
struct ClickSet {
  int64_t samples = 0;
  int64_t numbers = 0;
  int64_t tables = 0;
  int64_t rows = 0;  // of each table
  uint64_t seed = 0;
};
std::shared_ptr<const SampleSource> make_click_source(const ClickSet& set);

}  // namespace dprof::trainer_harness
