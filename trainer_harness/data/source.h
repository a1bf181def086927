// SPDX-License-Identifier: Apache-2.0
// Synthetic samples: functions of a seed and an index, so that every rank and every run sees the
// same data set without a file.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace dprof::trainer_harness {

// A model's input in one micro-step. The rows of `data` and `target` are samples.
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

// The samples of a batch. `length_factor` scales their sequences' usual length (a fault; 1: none).
struct BatchRequest {
  std::vector<size_t> indices;
  double length_factor = 1;
  int64_t number = 0;  // counts this rank's requests, from 0

  [[nodiscard]] size_t size() const { return indices.size(); }
};

// A set of labelled samples. Threading: several loader threads can call batch() at once.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  [[nodiscard]] virtual int64_t size() const = 0;
  [[nodiscard]] virtual Batch batch(const BatchRequest& request) const = 0;
};

// A hash of a batch's samples that ignores their order: the sum, modulo 2^64, of each index after
// mix(). Hashes of several batches add up. Equal sets have equal hashes; different sets almost
// always differ.
[[nodiscard]] uint64_t index_hash(const Batch& batch);

// Images of 1x28x28 in ten classes, like MNIST: each class is a fixed pattern, each sample that
// pattern shifted by up to two pixels with noise added. Only the patterns and the noise are stored.
std::shared_ptr<const SampleSource> make_digit_source(int64_t size, uint64_t seed);

// Three normal numbers and an unrelated label, all drawn again at each access.
std::shared_ptr<const SampleSource> make_coin_source(int64_t size);

inline constexpr int64_t kMinImageSide = 8;

// Images of three channels: each class is a pattern of coloured squares, each sample that pattern
// slightly shifted, with noise added.
struct ImageSet {
  int64_t samples = 0;
  int64_t side = 0;  // pixels, at least kMinImageSide
  int64_t classes = 0;
  uint64_t seed = 0;
};
std::shared_ptr<const SampleSource> make_image_source(const ImageSet& set);

// The task of a language model: masked words (15 % of them), or each next word.
enum class TokenTask : uint8_t { kMasked, kNext };

// Sentences in which most words follow from the previous one. `data` and `target` are int64 tokens;
// the target is -100 where there is no word to predict. A batch's sequence length depends on its
// first sample.
struct TokenSet {
  int64_t samples = 0;
  TokenTask task = TokenTask::kMasked;
  int64_t words = 0;  // vocabulary of the sentences; tokens are up to words + 3
  int64_t min_length = 0;
  int64_t max_length = 0;
  int64_t positions = 0;  // the longest sequence, even with a fault
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

// Numbers and categories, and a click label that a hidden linear model decides. `data` has the
// numbers, then each table's row index (a whole number, exact below 2^24).
struct ClickSet {
  int64_t samples = 0;
  int64_t numbers = 0;
  int64_t tables = 0;
  int64_t rows = 0;  // of each table
  uint64_t seed = 0;
};
std::shared_ptr<const SampleSource> make_click_source(const ClickSet& set);

}  // namespace dprof::trainer_harness
