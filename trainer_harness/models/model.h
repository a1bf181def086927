// SPDX-License-Identifier: Apache-2.0
// What a model is to the training loop, and the catalogue of those there are.
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

// A part of a model between two activations: what a pipeline cuts between, what ZeRO-3 gathers and
// activation checkpointing recomputes.
struct Block {
  std::string name;
  std::shared_ptr<torch::nn::Module> module;  // owns its parameters and buffers; null: it has none
  std::function<torch::Tensor(const torch::Tensor&)> run;
};

// A model is a chain of blocks: the first takes a batch's data, each further one what the one
// before gave, all of it one tensor whose first dimension is the sample.
class Model : public torch::nn::Module {
 public:
  using BlockRunner = std::function<torch::Tensor(const Block&, const torch::Tensor&)>;

  [[nodiscard]] const std::vector<Block>& blocks() const { return blocks_; }

  // Runs the whole chain.
  torch::Tensor forward(const torch::Tensor& input);

  // Runs each block through `runner`, which may do more than calling run(); null: directly.
  void set_block_runner(BlockRunner runner) { runner_ = std::move(runner); }
  [[nodiscard]] const BlockRunner& block_runner() const { return runner_; }
  torch::Tensor run_block(const Block& block, const torch::Tensor& input) const {
    return runner_ ? runner_(block, input) : block.run(input);
  }

  // The mean over the samples.
  [[nodiscard]] virtual torch::Tensor loss(const torch::Tensor& output,
                                           const torch::Tensor& target) const = 0;

  // Parameters of this rank alone, such as embedding tables that are divided over the ranks: the
  // optimizer steps them as they are; no gradient of theirs is averaged and no rank's is compared.
  // Only a job whose strategy is ddp has any.
  [[nodiscard]] virtual std::vector<torch::Tensor> local_parameters() const { return {}; }

  // All the others, in order and by name: what every rank has a replica of.
  [[nodiscard]] std::vector<std::pair<std::string, torch::Tensor>> replicated_parameters() const;

  // A replica on `device`, for torch::nn::parallel::replicate. The model is built anew and filled,
  // which costs as much as its construction: keep it. Random numbers go on as if it had not been.
  [[nodiscard]] std::shared_ptr<torch::nn::Module> clone(
      const std::optional<torch::Device>& device = std::nullopt) const override;

  // What clone() builds with; find_model() sees to it.
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
  // Any other; `module` must have been registered.
  void add_block(Block block) { blocks_.push_back(std::move(block)); }

 private:
  std::vector<Block> blocks_;
  BlockRunner runner_;
  std::function<std::shared_ptr<Model>()> factory_;
};

// What building a model may need to know.
struct ModelRequest {
  const Options& options;
  torch::Device device;
  Job* job;  // null without ranks
};

// A model with the data and the settings that it is trained with unless the command line says
// otherwise.
struct ModelSpec {
  std::string name;
  std::string about;  // a line for --list
  int64_t batch = 1;
  int64_t epochs = 1;
  OptimizerKind optimizer = OptimizerKind::kSgd;
  double learning_rate = 0.001;
  double momentum = 0;
  bool tied = false;       // blocks share parameters, so that no pipeline can cut between them
  bool sequences = false;  // batches are of sequences, whose lengths vary from batch to batch
  bool takes_image_size = false;
  std::function<std::shared_ptr<Model>(const ModelRequest&)> make;
  std::function<std::shared_ptr<const SampleSource>(const ModelRequest&)> make_source;
};

// All of them; one named "mlp:WIDTHS" stands for many, and can be told about but not made.
[[nodiscard]] const std::vector<ModelSpec>& model_catalogue();
// Throws UsageError for a name that the catalogue has not (where "mlp:WIDTHS" stands for many).
[[nodiscard]] ModelSpec find_model(const std::string& name);

}  // namespace dprof::trainer_harness
