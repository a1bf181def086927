// SPDX-License-Identifier: Apache-2.0
// The model interface of the training loop, and the catalogue of models.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trainer_harness/data/source.h"
#include "trainer_harness/settings/options.h"

namespace dprof::trainer_harness {

class Job;

// A part of a model between two activations. A pipeline is cut between blocks; ZeRO-3 gathers, and
// activation checkpointing recomputes, one block at a time.
struct Block {
  std::string name;
  std::shared_ptr<torch::nn::Module> module;  // owns its parameters and buffers; null if none
  std::function<torch::Tensor(const torch::Tensor&)> run;
};

// A model is a chain of blocks. The first takes a batch's data, each of the others its
// predecessor's output: always one tensor whose first dimension is the sample.
class Model : public torch::nn::Module {
 public:
  using BlockRunner = std::function<torch::Tensor(const Block&, const torch::Tensor&)>;

  [[nodiscard]] const std::vector<Block>& blocks() const { return blocks_; }

  // Runs the whole chain.
  torch::Tensor forward(const torch::Tensor& input);

  // Runs each block through `runner`, which can do more than call run(); null: calls run().
  void set_block_runner(BlockRunner runner) { runner_ = std::move(runner); }
  [[nodiscard]] const BlockRunner& block_runner() const { return runner_; }
  torch::Tensor run_block(const Block& block, const torch::Tensor& input) const {
    return runner_ ? runner_(block, input) : block.run(input);
  }

  // The mean loss over the samples.
  [[nodiscard]] virtual torch::Tensor loss(const torch::Tensor& output,
                                           const torch::Tensor& target) const = 0;

  // Parameters that only this rank has, such as embedding tables that are divided over the ranks.
  // The optimizer updates them; their gradients are not averaged, and they are not compared between
  // ranks. Only jobs with strategy ddp have any.
  [[nodiscard]] virtual std::vector<torch::Tensor> local_parameters() const { return {}; }

  // All other parameters, in order and by name: every rank has a replica of these.
  [[nodiscard]] std::vector<std::pair<std::string, torch::Tensor>> replicated_parameters() const;

  // A replica on `device`, for torch::nn::parallel::replicate. Builds the model again and copies
  // the values, which costs as much as construction: keep the replica. The random generator's state
  // is unchanged afterwards.
  [[nodiscard]] std::shared_ptr<torch::nn::Module> clone(
      const std::optional<torch::Device>& device = std::nullopt) const override;

  // clone() builds with it; find_model() sets it.
  void set_factory(std::function<std::shared_ptr<Model>()> factory) {
    factory_ = std::move(factory);
  }

 protected:
  // A block of one module with its own forward(Tensor), registered under `name`.
  template <typename Holder>
  Holder add_block(const std::string& name, Holder module) {
    register_module(name, module);
    blocks_.push_back({name, module.ptr(), [module](const torch::Tensor& input) mutable {
                         return module->forward(input);
                       }});
    return module;
  }
  // Any other block. Precondition: `module` is registered or null.
  void add_block(Block block) { blocks_.push_back(std::move(block)); }

 private:
  std::vector<Block> blocks_;
  BlockRunner runner_;
  std::function<std::shared_ptr<Model>()> factory_;
};

// Input for building a model.
struct ModelRequest {
  const Options& options;
  torch::Device device;
  Job* job;  // null in a single process
};

// A model with its data and its default training settings.
struct ModelSpec {
  std::string name;
  std::string about;  // a line for --list
  int64_t batch = 1;
  int64_t epochs = 1;
  OptimizerKind optimizer = OptimizerKind::kSgd;
  double learning_rate = 0.001;
  double momentum = 0;
  bool tied = false;       // blocks share parameters, so a pipeline cannot cut between them
  bool sequences = false;  // batches hold sequences, whose length varies between batches
  bool takes_image_size = false;
  std::function<std::shared_ptr<Model>(const ModelRequest&)> make;
  std::function<std::shared_ptr<const SampleSource>(const ModelRequest&)> make_source;
};

// All models. The entry "mlp:WIDTHS" represents a family: it can be listed, but not built.
[[nodiscard]] const std::vector<ModelSpec>& model_catalogue();
// Takes a name from the catalogue, or "mlp:" with actual widths. Throws UsageError for any other.
[[nodiscard]] ModelSpec find_model(const std::string& name);

}  // namespace dprof::trainer_harness
