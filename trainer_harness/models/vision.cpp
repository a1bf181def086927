// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/models/vision.h"

#include <torch/nn/functional/loss.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <array>

#include "trainer_harness/models/batch_norm.h"

namespace dprof::trainer_harness {
namespace {

constexpr int64_t kImageChannels = 3;
constexpr int64_t kStemChannels = 64;
constexpr int64_t kClasses = 1000;
constexpr int64_t kBottleneckExpansion = 4;

struct ConvSize {
  int64_t in = 0;
  int64_t out = 0;
  int64_t kernel = 1;
  int64_t stride = 1;
};

// A convolution without bias and its normalisation. At stride 1 the padding keeps the size.
class ConvNormImpl : public torch::nn::Module {
 public:
  explicit ConvNormImpl(const ConvSize& size)
      : conv_(torch::nn::Conv2dOptions(size.in, size.out, size.kernel)
                  .stride(size.stride)
                  .padding(size.kernel / 2)
                  .bias(false)),
        norm_(std::make_shared<BatchNorm>(size.out)) {
    torch::nn::init::kaiming_normal_(conv_->weight, 0, torch::kFanOut, torch::kReLU);
    register_module("conv", conv_);
    register_module("norm", norm_);
  }

  torch::Tensor forward(const torch::Tensor& x) { return norm_->forward(conv_->forward(x)); }

 private:
  torch::nn::Conv2d conv_;
  std::shared_ptr<BatchNorm> norm_;
};
TORCH_MODULE(ConvNorm);

class StemImpl : public torch::nn::Module {
 public:
  StemImpl() { register_module("conv1", conv_); }

  torch::Tensor forward(const torch::Tensor& x) {
    return torch::max_pool2d(torch::relu(conv_->forward(x)), 3, 2, 1);
  }

 private:
  ConvNorm conv_{ConvSize{kImageChannels, kStemChannels, 7, 2}};
};
TORCH_MODULE(Stem);

// relu(convolutions(x) + x); if the shape changes, the added x goes through a 1x1 convolution.
class ResidualImpl : public torch::nn::Module {
 public:
  explicit ResidualImpl(const std::vector<ConvSize>& sizes) {
    int64_t stride = 1;
    for (const ConvSize& size : sizes) {
      convs_.push_back(register_module("conv" + std::to_string(convs_.size() + 1), ConvNorm(size)));
      stride *= size.stride;
    }
    if (stride == 1 && sizes.front().in == sizes.back().out) return;
    downsample_ = register_module(
        "downsample", ConvNorm(ConvSize{sizes.front().in, sizes.back().out, 1, stride}));
  }

  torch::Tensor forward(const torch::Tensor& input) {
    torch::Tensor x = input;
    for (size_t i = 0; i < convs_.size(); ++i) {
      if (i > 0) x = torch::relu(x);
      x = convs_[i]->forward(x);
    }
    return torch::relu(x + (downsample_ ? downsample_->forward(input) : input));
  }

 private:
  std::vector<ConvNorm> convs_;
  ConvNorm downsample_{nullptr};
};
TORCH_MODULE(Residual);

class HeadImpl : public torch::nn::Module {
 public:
  explicit HeadImpl(int64_t channels) : fc_(channels, kClasses) { register_module("fc", fc_); }

  torch::Tensor forward(const torch::Tensor& x) { return fc_->forward(x.mean({2, 3})); }

 private:
  torch::nn::Linear fc_;
};
TORCH_MODULE(Head);

class Resnet final : public Model {
 public:
  // `depths`: the number of residual blocks in each of the four layers.
  Resnet(const std::array<int, 4>& depths, bool bottleneck) {
    add_block("stem", Stem());
    int64_t channels = kStemChannels;
    int64_t width = kStemChannels;
    for (size_t layer = 0; layer < depths.size(); ++layer, width *= 2) {
      const int64_t out = bottleneck ? width * kBottleneckExpansion : width;
      for (int i = 0; i < depths[layer]; ++i) {
        const int64_t stride = layer > 0 && i == 0 ? 2 : 1;
        const std::string name = "layer" + std::to_string(layer + 1) + "_" + std::to_string(i);
        add_block(name, bottleneck ? Residual(std::vector<ConvSize>{{channels, width, 1, 1},
                                                                    {width, width, 3, stride},
                                                                    {width, out, 1, 1}})
                                   : Residual(std::vector<ConvSize>{{channels, width, 3, stride},
                                                                    {width, width, 3, 1}}));
        channels = out;
      }
    }
    add_block("head", Head(channels));
  }

  [[nodiscard]] torch::Tensor loss(const torch::Tensor& output,
                                   const torch::Tensor& target) const override {
    return torch::nn::functional::cross_entropy(output, target);
  }
};

}  // namespace

std::shared_ptr<Model> make_resnet18(const ModelRequest&) {
  return std::make_shared<Resnet>(std::array{2, 2, 2, 2}, /*bottleneck=*/false);
}

std::shared_ptr<Model> make_resnet50(const ModelRequest&) {
  return std::make_shared<Resnet>(std::array{3, 4, 6, 3}, /*bottleneck=*/true);
}

}  // namespace dprof::trainer_harness
