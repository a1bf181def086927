// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/models/transformers.h"

#include <ATen/ops/scaled_dot_product_attention.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

namespace dprof::trainer_harness {
namespace {

constexpr double kInitialDeviation = 0.02;
constexpr int64_t kTokenTypes = 2;  // BERT's first and second sentence; here only the first

torch::nn::LayerNorm layer_norm(int64_t width) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}));
}

// As in both papers.
void set_initial_weights(torch::nn::Module& model) {
  const torch::NoGradGuard no_grad;
  for (const auto& item : model.named_parameters()) {
    if (item.value().dim() > 1) {
      item.value().normal_(0, kInitialDeviation);
    } else if (item.key().ends_with("bias")) {
      item.value().zero_();
    }
  }
}

// From tokens [sample, position] to [sample, position, width].
class EmbeddingsImpl : public torch::nn::Module {
 public:
  EmbeddingsImpl(const TransformerSize& size, bool encoder)
      : word(register_module("word", torch::nn::Embedding(size.vocabulary, size.width))),
        position_(register_module("position", torch::nn::Embedding(size.positions, size.width))) {
    if (encoder) {
      type_ = register_module("type", torch::nn::Embedding(kTokenTypes, size.width));
      norm_ = register_module("norm", layer_norm(size.width));
    }
  }

  torch::Tensor forward(const torch::Tensor& tokens) {
    const torch::Tensor places = torch::arange(tokens.size(1), tokens.options());
    torch::Tensor x = word->forward(tokens) + position_->forward(places);
    if (type_) x = x + type_->forward(torch::zeros_like(places));
    return norm_ ? norm_->forward(x) : x;
  }

  torch::nn::Embedding word;

 private:
  torch::nn::Embedding position_;
  torch::nn::Embedding type_{nullptr};
  torch::nn::LayerNorm norm_{nullptr};
};
TORCH_MODULE(Embeddings);

// All sequences of a batch are equally long, so attention needs only the causal mask.
class AttentionImpl : public torch::nn::Module {
 public:
  AttentionImpl(const TransformerSize& size, bool causal)
      : heads_(size.heads),
        causal_(causal),
        qkv_(register_module("qkv", torch::nn::Linear(size.width, 3 * size.width))),
        out_(register_module("out", torch::nn::Linear(size.width, size.width))) {}

  torch::Tensor forward(const torch::Tensor& x) {
    // [sample, position, 3 * width] -> 3 of [sample, head, position, width / heads]
    const torch::Tensor parts = qkv_->forward(x)
                                    .view({x.size(0), x.size(1), 3, heads_, x.size(2) / heads_})
                                    .permute({2, 0, 3, 1, 4});
    const torch::Tensor mixed =
        at::scaled_dot_product_attention(parts[0], parts[1], parts[2], std::nullopt, 0, causal_);
    return out_->forward(mixed.transpose(1, 2).flatten(2));
  }

 private:
  int64_t heads_;
  bool causal_;
  torch::nn::Linear qkv_;
  torch::nn::Linear out_;
};
TORCH_MODULE(Attention);

class LayerImpl : public torch::nn::Module {
 public:
  LayerImpl(const TransformerSize& size, bool encoder)
      : encoder_(encoder),
        attention_(register_module("attention", Attention(size, !encoder))),
        norm1_(register_module("norm1", layer_norm(size.width))),
        widen_(register_module("widen", torch::nn::Linear(size.width, size.inner))),
        narrow_(register_module("narrow", torch::nn::Linear(size.inner, size.width))),
        norm2_(register_module("norm2", layer_norm(size.width))) {}

  torch::Tensor forward(const torch::Tensor& input) {
    if (encoder_) {
      const torch::Tensor x = norm1_->forward(input + attention_->forward(input));
      return norm2_->forward(x + think(x));
    }
    const torch::Tensor x = input + attention_->forward(norm1_->forward(input));
    return x + think(norm2_->forward(x));
  }

 private:
  torch::Tensor think(const torch::Tensor& x) {
    return narrow_->forward(torch::gelu(widen_->forward(x)));
  }

  bool encoder_;
  Attention attention_;
  torch::nn::LayerNorm norm1_;
  torch::nn::Linear widen_;
  torch::nn::Linear narrow_;
  torch::nn::LayerNorm norm2_;
};
TORCH_MODULE(Layer);

// BERT's head: one more layer, then the embedding's weights, then a bias.
class MaskedHeadImpl : public torch::nn::Module {
 public:
  MaskedHeadImpl(const TransformerSize& size, torch::nn::Embedding words)
      : words_(std::move(words)),
        dense_(register_module("dense", torch::nn::Linear(size.width, size.width))),
        norm_(register_module("norm", layer_norm(size.width))),
        bias_(register_parameter("bias", torch::zeros({size.vocabulary}))) {}

  torch::Tensor forward(const torch::Tensor& x) {
    return torch::linear(norm_->forward(torch::gelu(dense_->forward(x))), words_->weight, bias_);
  }

 private:
  torch::nn::Embedding words_;  // another block's
  torch::nn::Linear dense_;
  torch::nn::LayerNorm norm_;
  torch::Tensor bias_;
};
TORCH_MODULE(MaskedHead);

// GPT's head: a normalisation, then the embedding's weights or its own.
class NextHeadImpl : public torch::nn::Module {
 public:
  NextHeadImpl(const TransformerSize& size, torch::nn::Embedding words)
      : words_(std::move(words)), norm_(register_module("norm", layer_norm(size.width))) {
    if (!words_) {
      const auto options = torch::nn::LinearOptions(size.width, size.vocabulary).bias(false);
      decoder_ = register_module("decoder", torch::nn::Linear(options));
    }
  }

  torch::Tensor forward(const torch::Tensor& x) {
    return torch::linear(norm_->forward(x), words_ ? words_->weight : decoder_->weight);
  }

 private:
  torch::nn::Embedding words_;  // another block's, or null
  torch::nn::LayerNorm norm_;
  torch::nn::Linear decoder_{nullptr};
};
TORCH_MODULE(NextHead);

class LanguageModel : public Model {
 public:
  // The mean over the words to predict. Every sample of a batch has the same number of them.
  [[nodiscard]] torch::Tensor loss(const torch::Tensor& output,
                                   const torch::Tensor& target) const override {
    return torch::nn::functional::cross_entropy(output.flatten(0, 1), target.flatten());
  }

 protected:
  Embeddings add_body(const TransformerSize& size, bool encoder) {
    Embeddings embeddings = add_block("embeddings", Embeddings(size, encoder));
    for (int64_t i = 0; i < size.layers; ++i) {
      add_block("layer" + std::to_string(i), Layer(size, encoder));
    }
    return embeddings;
  }
};

class Bert final : public LanguageModel {
 public:
  explicit Bert(const TransformerSize& size) {
    const Embeddings embeddings = add_body(size, /*encoder=*/true);
    add_block("head", MaskedHead(size, embeddings->word));
    set_initial_weights(*this);
  }
};

class Gpt final : public LanguageModel {
 public:
  Gpt(const TransformerSize& size, bool tied) {
    const Embeddings embeddings = add_body(size, /*encoder=*/false);
    add_block("head", NextHead(size, tied ? embeddings->word : torch::nn::Embedding(nullptr)));
    set_initial_weights(*this);
  }
};

}  // namespace

std::shared_ptr<Model> make_bert(const TransformerSize& size) {
  return std::make_shared<Bert>(size);
}

std::shared_ptr<Model> make_gpt(const TransformerSize& size, bool tied) {
  return std::make_shared<Gpt>(size, tied);
}

}  // namespace dprof::trainer_harness
