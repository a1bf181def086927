// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/models/model.h"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "trainer_harness/common/usage_error.h"
#include "trainer_harness/models/convnet.h"
#include "trainer_harness/models/mlp.h"
#include "trainer_harness/models/recommender.h"
#include "trainer_harness/models/toy.h"
#include "trainer_harness/models/transformers.h"
#include "trainer_harness/models/vision.h"

namespace dprof::trainer_harness {
namespace {

constexpr int64_t kCifarSide = 32;
constexpr int64_t kImageNetSide = 224;
constexpr int64_t kCifarClasses = 10;  // of small images; a ResNet has 1000 outputs
constexpr int64_t kImageNetClasses = 1000;
constexpr int64_t kMaxWidth = 1 << 20;
constexpr const char* kMlpPrefix = "mlp:";

using Source = std::shared_ptr<const SampleSource>;

int64_t samples(const ModelRequest& request, int64_t standard) {
  return request.options.data.samples.value_or(standard);
}

Source digits(const ModelRequest& request) {
  return make_digit_source(samples(request, 60'000), request.options.training.seed);
}

Source coins(const ModelRequest& request) { return make_coin_source(samples(request, 1000)); }

Source images(const ModelRequest& request) {
  const int64_t side = request.options.data.image_size.value_or(
      request.device.is_cuda() ? kImageNetSide : kCifarSide);
  return make_image_source({.samples = samples(request, 50'000),
                            .side = side,
                            .classes = side < kImageNetSide ? kCifarClasses : kImageNetClasses,
                            .seed = request.options.training.seed});
}

// The models' lengths leave room for a fault that makes sequences several times longer.
std::function<Source(const ModelRequest&)> tokens(TokenTask task, int64_t words, int64_t min_length,
                                                  int64_t max_length, int64_t positions) {
  return [=](const ModelRequest& request) {
    return make_token_source({.samples = samples(request, 20'000),
                              .task = task,
                              .words = words,
                              .min_length = min_length,
                              .max_length = max_length,
                              .positions = positions,
                              .seed = request.options.training.seed});
  };
}

std::function<Source(const ModelRequest&)> clicks(const RecommenderSize& size) {
  return [size](const ModelRequest& request) {
    return make_click_source({.samples = samples(request, 100'000),
                              .numbers = size.numbers,
                              .tables = size.tables,
                              .rows = size.rows,
                              .seed = request.options.training.seed});
  };
}

ModelSpec make_mlp_spec(const std::vector<int64_t>& widths) {
  return {.name = "mlp:WIDTHS",
          .about = "linear layers of these widths, as in mlp:64,256,10; a classifier",
          .batch = 64,
          .epochs = 10,
          .optimizer = OptimizerKind::kSgd,
          .learning_rate = 0.01,
          .momentum = 0.9,
          .make = [widths](const ModelRequest&) { return std::make_shared<Mlp>(widths); },
          .make_source =
              [widths](const ModelRequest& request) {
                return make_cluster_source({.samples = samples(request, 10'000),
                                            .features = widths.front(),
                                            .classes = widths.back(),
                                            .seed = request.options.training.seed});
              }};
}

std::vector<ModelSpec> vision_specs() {
  return {{.name = "convnet",
           .about = "two convolutions, two linear layers; 27,100 parameters",
           .batch = 64,
           .epochs = 10,
           .optimizer = OptimizerKind::kSgd,
           .learning_rate = 0.001,
           .momentum = 0.9,
           .make =
               [](const ModelRequest& request) {
                 return std::make_shared<Convnet>(request.options.mistake != Mistake::kShape);
               },
           .make_source = digits},
          {.name = "resnet18",
           .about = "ResNet-18 with batch normalisation; 11,689,512 parameters",
           .batch = 32,
           .epochs = 10,
           .optimizer = OptimizerKind::kSgd,
           .learning_rate = 0.01,
           .momentum = 0.9,
           .takes_image_size = true,
           .make = make_resnet18,
           .make_source = images},
          {.name = "resnet50",
           .about = "ResNet-50 with batch normalisation; 25,557,032 parameters",
           .batch = 32,
           .epochs = 10,
           .optimizer = OptimizerKind::kSgd,
           .learning_rate = 0.01,
           .momentum = 0.9,
           .takes_image_size = true,
           .make = make_resnet50,
           .make_source = images}};
}

ModelSpec language_spec(const std::string& name, const std::string& about, double learning_rate,
                        bool tied) {
  return {.name = name,
          .about = about,
          .batch = 8,
          .epochs = 3,
          .optimizer = OptimizerKind::kAdam,
          .learning_rate = learning_rate,
          .tied = tied,
          .sequences = true};
}

std::vector<ModelSpec> language_specs() {
  ModelSpec bert_tiny = language_spec(
      "bert-tiny", "BERT of 2 layers, masked words of a small vocabulary", 1e-3, true);
  bert_tiny.make = [](const ModelRequest&) { return make_bert(kBertTiny); };
  bert_tiny.make_source = tokens(TokenTask::kMasked, 32, 32, 128, kBertTiny.positions);
  ModelSpec bert_base =
      language_spec("bert-base", "BERT-base, masked words; 109,514,298 parameters", 1e-4, true);
  bert_base.make = [](const ModelRequest&) { return make_bert(kBertBase); };
  bert_base.make_source = tokens(TokenTask::kMasked, 30'000, 64, 256, kBertBase.positions);
  ModelSpec gpt_tiny =
      language_spec("gpt-tiny", "GPT-2 of 2 layers, next words of a small vocabulary", 1e-3, false);
  gpt_tiny.make = [](const ModelRequest&) { return make_gpt(kGptTiny, /*tied=*/false); };
  gpt_tiny.make_source = tokens(TokenTask::kNext, 32, 32, 128, kGptTiny.positions);
  ModelSpec gpt2 = language_spec("gpt2", "GPT-2, next words; 124,439,808 parameters", 1e-4, true);
  gpt2.make = [](const ModelRequest&) { return make_gpt(kGpt2, /*tied=*/true); };
  gpt2.make_source = tokens(TokenTask::kNext, 50'000, 128, 512, kGpt2.positions);
  return {bert_tiny, bert_base, gpt_tiny, gpt2};
}

ModelSpec recommender_spec(const std::string& name, const std::string& about, int64_t batch,
                           const RecommenderSize& size) {
  return {.name = name,
          .about = about,
          .batch = batch,
          .epochs = 1,
          .optimizer = OptimizerKind::kAdam,
          .learning_rate = 0.003,
          .make = [size](const ModelRequest& request) { return make_recommender(size, request); },
          .make_source = clicks(size)};
}

std::vector<ModelSpec> other_specs() {
  return {
      {.name = "toy",
       .about = "Linear(3, 1); 4 parameters",
       .batch = 10,
       .epochs = 10,
       .optimizer = OptimizerKind::kSgd,
       .learning_rate = 0.001,
       .make = [](const ModelRequest&) { return std::make_shared<Toy>(); },
       .make_source = coins},
      make_mlp_spec({1, 1}),
      recommender_spec("recommender-tiny", "DLRM with 6 tables of 1000 rows, divided over ranks",
                       128, kRecommenderTiny),
      recommender_spec("recommender", "DLRM with 26 tables of 100,000 rows, divided over ranks",
                       2048, kRecommender)};
}

// Throws UsageError.
ModelSpec parse_mlp(const std::string& name) {
  std::vector<int64_t> widths;
  std::istringstream text(name.substr(std::string(kMlpPrefix).size()) + ",");
  bool good = true;
  for (std::string item; std::getline(text, item, ',');) {
    int64_t width = 0;
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), width);
    good = good && error == std::errc() && end == item.data() + item.size() && width >= 1 &&
           width <= kMaxWidth;
    widths.push_back(width);
  }
  if (!good || widths.size() < 2) {
    throw UsageError("--model " + name + " has no such widths\nhint: two at least, from 1 to " +
                     std::to_string(kMaxWidth) + ", as in mlp:64,256,10");
  }
  ModelSpec spec = make_mlp_spec(widths);
  spec.name = name;
  return spec;
}

// Throws UsageError for options that this model does not support.
void check_request(const ModelSpec& spec, const Options& options) {
  if (options.mistake == Mistake::kShape && spec.name != "convnet") {
    throw UsageError("--mistake shape is one of --model convnet");
  }
  if (!options.data.image_size) return;
  if (!spec.takes_image_size) {
    throw UsageError("--image-size does not go with --model " + spec.name +
                     "\nhint: resnet18 and resnet50 take images of any size");
  }
  if (*options.data.image_size < kMinImageSide) {
    throw UsageError("--image-size " + std::to_string(*options.data.image_size) +
                     " is too small\nhint: take " + std::to_string(kMinImageSide) + " or more");
  }
}

// Makes models that can be built again after the request is gone: the factory copies it.
ModelSpec with_factory(ModelSpec spec) {
  spec.make = [make = spec.make, spec](const ModelRequest& request) {
    check_request(spec, request.options);
    std::shared_ptr<Model> model = make(request);
    model->set_factory(
        [make, options = request.options, device = request.device, job = request.job] {
          return make({options, device, job});
        });
    return model;
  };
  return spec;
}

}  // namespace

torch::Tensor Model::forward(const torch::Tensor& input) {
  torch::Tensor x = input;
  for (const Block& block : blocks_) x = run_block(block, x);
  return x;
}

std::vector<std::pair<std::string, torch::Tensor>> Model::replicated_parameters() const {
  const std::vector<torch::Tensor> local = local_parameters();
  std::vector<std::pair<std::string, torch::Tensor>> replicated;
  for (const auto& item : named_parameters()) {
    const bool own = std::ranges::any_of(
        local, [&item](const torch::Tensor& parameter) { return parameter.is_same(item.value()); });
    if (!own) replicated.emplace_back(item.key(), item.value());
  }
  return replicated;
}

std::shared_ptr<torch::nn::Module> Model::clone(const std::optional<torch::Device>& device) const {
  at::Generator random = at::detail::getDefaultCPUGenerator();
  const torch::Tensor state = random.get_state();
  std::shared_ptr<Model> copy = factory_();
  random.set_state(state);
  if (device) copy->to(*device);
  const torch::NoGradGuard no_grad;
  const auto fill = [](const auto& to, const auto& from) {
    for (const auto& item : to) item.value().copy_(from[item.key()]);
  };
  fill(copy->named_parameters(), named_parameters());
  fill(copy->named_buffers(), named_buffers());
  copy->train(is_training());
  copy->set_block_runner(runner_);
  return copy;
}

const std::vector<ModelSpec>& model_catalogue() {
  static const std::vector<ModelSpec> specs = [] {
    std::vector<ModelSpec> all = vision_specs();
    for (const auto& more : {language_specs(), other_specs()}) {
      all.insert(all.end(), more.begin(), more.end());
    }
    std::ranges::sort(all, {}, &ModelSpec::name);
    return all;
  }();
  return specs;
}

ModelSpec find_model(const std::string& name) {
  if (name.starts_with(kMlpPrefix)) return with_factory(parse_mlp(name));
  for (const ModelSpec& spec : model_catalogue()) {
    if (spec.name == name) return with_factory(spec);
  }
  throw UsageError("--model " + name +
                   " is not known\nhint: dprof-trainer --list names the models");
}

}  // namespace dprof::trainer_harness
