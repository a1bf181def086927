// SPDX-License-Identifier: Apache-2.0
// Language models: an encoder that guesses masked words (BERT) and a decoder that guesses each next
// one (GPT-2).
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

// Normalises after each part; the decoder's weights are the embedding's.
[[nodiscard]] std::shared_ptr<Model> make_bert(const TransformerSize& size);

// Normalises before each part; a word sees those before it only. `tied`: the decoder's weights are
// the embedding's; else it has its own, so that a pipeline can cut it.
[[nodiscard]] std::shared_ptr<Model> make_gpt(const TransformerSize& size, bool tied);

}  // namespace dprof::trainer_harness
