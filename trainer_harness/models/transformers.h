// SPDX-License-Identifier: Apache-2.0
// Language models: an encoder that predicts masked words (BERT) and a decoder that predicts each
// next word (GPT-2).
#pragma once

#include <memory>

#include "trainer_harness/models/model.h"

namespace dprof::trainer_harness {

struct TransformerSize {
  int64_t layers = 0;
  int64_t width = 0;
  int64_t heads = 0;
  int64_t inner = 0;  // of the feed-forward part
  int64_t vocabulary = 0;
  int64_t positions = 0;
};

inline constexpr TransformerSize kBertTiny{2, 128, 2, 512, 1024, 512};
inline constexpr TransformerSize kBertBase{12, 768, 12, 3072, 30'522, 512};
inline constexpr TransformerSize kGptTiny{2, 128, 4, 512, 512, 512};
inline constexpr TransformerSize kGpt2{12, 768, 12, 3072, 50'257, 1024};

// Normalises after each part. The output layer shares the embedding's weights.
[[nodiscard]] std::shared_ptr<Model> make_bert(const TransformerSize& size);

// Normalises before each part. A word sees only itself and earlier ones. If `tied`, the output
// layer shares the embedding's weights; otherwise it has its own, so that a pipeline can be cut.
[[nodiscard]] std::shared_ptr<Model> make_gpt(const TransformerSize& size, bool tied);

}  // namespace dprof::trainer_harness
