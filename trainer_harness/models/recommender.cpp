// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/models/recommender.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/linear.h>

#include <cmath>
#include <numeric>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "trainer_harness/common/usage_error.h"
#include "trainer_harness/ranks/job.h"

namespace dprof::trainer_harness {
namespace {

using Group = c10::intrusive_ptr<c10d::ProcessGroup>;
using Splits = std::vector<int64_t>;  // elements, by rank

int64_t sum(const Splits& splits) {
  return std::accumulate(splits.begin(), splits.end(), int64_t{0});
}

// Sends rank r its part of `flat` (`send[r]` elements), and returns the parts received from all
// ranks (`receive[r]` elements each), in rank order.
torch::Tensor all_to_all(const Group& group, const torch::Tensor& flat, Splits send,
                         Splits receive) {
  torch::Tensor input = flat.contiguous();
  torch::Tensor output = torch::empty({sum(receive)}, flat.options());
  group->alltoall_base(output, input, receive, send)->wait();
  return output;
}

// all_to_all() for activations: backward sends their gradients the other way. Each gradient is that
// of the sender's mean loss. For the mean over all ranks it is divided by the world size, as the
// Reducer does when it averages gradients.
class ExchangeRows : public torch::autograd::Function<ExchangeRows> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& flat,
                               const Group& group, const Splits& send, const Splits& receive) {
    context->saved_data["group"] = c10::IValue::make_capsule(group);
    context->saved_data["send"] = send;
    context->saved_data["receive"] = receive;
    return all_to_all(group, flat, send, receive);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto group = c10::static_intrusive_pointer_cast<c10d::ProcessGroup>(
        context->saved_data["group"].toCapsule());
    const torch::Tensor sent =
        all_to_all(group, gradients[0], context->saved_data["receive"].toIntVector(),
                   context->saved_data["send"].toIntVector());
    return {sent / group->getSize(), {}, {}, {}};
  }
};

// The embedding tables: this rank's own, and access to those of the other ranks.
class TablesImpl : public torch::nn::Module {
 public:
  // Without `group`, this rank has all tables.
  TablesImpl(const RecommenderSize& size, uint64_t seed, Group group)
      : group_(std::move(group)), ranks_(group_ ? group_->getSize() : 1), width_(size.width) {
    const int rank = group_ ? group_->getRank() : 0;
    for (int owner = 0; owner < ranks_; ++owner) {
      counts_.push_back(0);
      for (int64_t table = owner; table < size.tables; table += ranks_) {
        by_owner_.push_back(table);
        ++counts_.back();
        if (owner != rank) continue;
        own_.push_back(
            register_parameter("table" + std::to_string(table), initial_table(size, seed, table)));
      }
    }
    std::vector<int64_t> places(by_owner_.size());
    for (size_t i = 0; i < by_owner_.size(); ++i) {
      places[static_cast<size_t>(by_owner_[i])] = static_cast<int64_t>(i);
    }
    places_ = torch::tensor(places);
    by_owner_tensor_ = torch::tensor(by_owner_);
  }

  // From rows [sample, table] to vectors [sample, table, width].
  torch::Tensor forward(const torch::Tensor& rows) {
    if (!group_) return look_up(rows);
    const Splits samples = samples_by_rank(rows);
    const auto mine = counts_[static_cast<size_t>(group_->getRank())];
    const int64_t all_samples = sum(samples);

    Splits ask;     // elements of `rows` sent to each owner
    Splits answer;  // and received from each rank
    std::vector<torch::Tensor> questions;
    const torch::Tensor sorted = rows.index_select(1, by_owner_tensor_.to(rows.device()));
    for (size_t i = 0, first = 0; i < counts_.size(); first += static_cast<size_t>(counts_[i++])) {
      ask.push_back(rows.size(0) * counts_[i]);
      answer.push_back(samples[i] * mine);
      questions.push_back(sorted.narrow(1, static_cast<int64_t>(first), counts_[i]).flatten());
    }
    const torch::Tensor asked = all_to_all(group_, torch::cat(questions), ask, answer);
    const torch::Tensor found = look_up(asked.view({all_samples, mine}));

    for (int64_t& elements : ask) elements *= width_;
    for (int64_t& elements : answer) elements *= width_;
    const torch::Tensor got = ExchangeRows::apply(found.flatten(), group_, answer, ask);
    std::vector<torch::Tensor> parts = got.split_with_sizes(ask);
    for (size_t i = 0; i < parts.size(); ++i) {
      parts[i] = parts[i].view({rows.size(0), counts_[i], width_});
    }
    return torch::cat(parts, 1).index_select(1, places_.to(rows.device()));
  }

  [[nodiscard]] bool divided() const { return static_cast<bool>(group_); }
  [[nodiscard]] int64_t width() const { return width_; }

 private:
  // The result does not depend on the rank that makes it.
  static torch::Tensor initial_table(const RecommenderSize& size, uint64_t seed, int64_t table) {
    const at::Generator generator =
        at::detail::createCPUGenerator(seed + static_cast<uint64_t>(table));
    const double limit = 1 / std::sqrt(static_cast<double>(size.width));
    return torch::empty({size.rows, size.width}).uniform_(-limit, limit, generator);
  }

  torch::Tensor look_up(const torch::Tensor& rows) {
    std::vector<torch::Tensor> vectors;
    for (size_t i = 0; i < own_.size(); ++i) {
      vectors.push_back(torch::embedding(own_[i], rows.select(1, static_cast<int64_t>(i))));
    }
    return torch::stack(vectors, 1);
  }

  // Batches can differ in length between ranks: each rank sends its length to all.
  Splits samples_by_rank(const torch::Tensor& rows) {
    const Splits one(static_cast<size_t>(ranks_), 1);
    const torch::Tensor own = torch::full({ranks_}, rows.size(0), rows.options());
    const torch::Tensor all = all_to_all(group_, own, one, one).cpu();
    return {all.const_data_ptr<int64_t>(), all.const_data_ptr<int64_t>() + ranks_};
  }

  Group group_;
  int ranks_;
  int64_t width_;
  std::vector<torch::Tensor> own_;
  std::vector<int64_t> counts_;    // tables of each rank
  std::vector<int64_t> by_owner_;  // table numbers, rank by rank
  torch::Tensor by_owner_tensor_;
  torch::Tensor places_;  // index of each table in by_owner_
};
TORCH_MODULE(Tables);

// From [sample, numbers and rows] to [sample, 1 + tables, width]. The first vector is computed from
// the numbers.
class FeaturesImpl : public torch::nn::Module {
 public:
  FeaturesImpl(const RecommenderSize& size, Tables tables)
      : numbers_(size.numbers),
        tables_(register_module("tables", std::move(tables))),
        fc1_(register_module("fc1", torch::nn::Linear(size.numbers, size.hidden))),
        fc2_(register_module("fc2", torch::nn::Linear(size.hidden, size.width))) {}

  torch::Tensor forward(const torch::Tensor& x) {
    const torch::Tensor vectors =
        tables_->forward(x.narrow(1, numbers_, x.size(1) - numbers_).to(torch::kInt64));
    const torch::Tensor hidden = torch::relu(fc1_->forward(x.narrow(1, 0, numbers_)));
    const torch::Tensor first = torch::relu(fc2_->forward(hidden)).unsqueeze(1);
    return torch::cat({first, vectors.to(first.scalar_type())}, 1);
  }

 private:
  int64_t numbers_;
  Tables tables_;
  torch::nn::Linear fc1_;
  torch::nn::Linear fc2_;
};
TORCH_MODULE(Features);

// From [sample, feature, width] to the first feature and the products of all pairs.
torch::Tensor products_of_pairs(const torch::Tensor& x) {
  const int64_t features = x.size(1);
  const torch::Tensor products = torch::bmm(x, x.transpose(1, 2)).flatten(1);
  const torch::Tensor pairs = torch::triu_indices(features, features, 1, torch::kInt64);
  const torch::Tensor places = (pairs[0] * features + pairs[1]).to(x.device());
  return torch::cat({x.select(1, 0), products.index_select(1, places)}, 1);
}

class Recommender final : public Model {
 public:
  Recommender(const RecommenderSize& size, uint64_t seed, Group group)
      : tables_(size, seed, std::move(group)) {
    add_block("features", Features(size, tables_));
    add_block({"pairs", nullptr, products_of_pairs});
    const int64_t pairs = (size.tables + 1) * size.tables / 2;
    add_net("fc1", size.width + pairs, size.hidden, /*last=*/false);
    add_net("fc2", size.hidden, size.hidden, /*last=*/false);
    add_net("fc3", size.hidden, 1, /*last=*/true);
  }

  [[nodiscard]] torch::Tensor loss(const torch::Tensor& output,
                                   const torch::Tensor& target) const override {
    return torch::nn::functional::binary_cross_entropy_with_logits(output, target);
  }

  [[nodiscard]] std::vector<torch::Tensor> local_parameters() const override {
    if (!tables_->divided()) return {};
    return tables_->parameters();
  }

 private:
  void add_net(const std::string& name, int64_t in, int64_t out, bool last) {
    torch::nn::Linear linear(in, out);
    register_module(name, linear);
    add_block({name, linear.ptr(), [linear, last](const torch::Tensor& x) mutable {
                 const torch::Tensor y = linear->forward(x);
                 return last ? y : torch::relu(y);
               }});
  }

  Tables tables_;
};

// Refuses options that need the other ranks' tables or their gradients, or that make the number of
// steps differ between ranks.
void check_divided(const Options& options) {
  const auto refuse = [](const char* what) {
    throw UsageError(std::string("--model recommender divides its tables over the ranks: ") + what +
                     "\nhint: --strategy zero1 keeps all tables on each rank");
  };
  if (!options.output.checkpoint.empty()) refuse("--checkpoint would save those of one");
  const bool scales = options.training.grad_scaler.value_or(options.training.amp == Amp::kFp16);
  if (scales) refuse("the gradient scaler would skip a step on one rank alone");
  if (options.training.clip_norm) refuse("--clip-norm would see another norm on each rank");
  if (options.data.uneven == Uneven::kJoin) refuse("--uneven join cannot go on without one");
}

}  // namespace

std::shared_ptr<Model> make_recommender(const RecommenderSize& size, const ModelRequest& request) {
  const Options& options = request.options;
  const bool divides =
      request.job != nullptr && request.job->world_size() > 1 &&
      options.distribution.strategy.value_or(StrategyKind::kDdp) == StrategyKind::kDdp;
  if (!divides) return std::make_shared<Recommender>(size, options.training.seed, nullptr);
  if (request.job->world_size() > size.tables) {
    throw UsageError(
        "--model recommender: " + std::to_string(size.tables) + " tables cannot be divided among " +
        std::to_string(request.job->world_size()) + " ranks\nhint: take at most a rank per table");
  }
  check_divided(options);
  return std::make_shared<Recommender>(size, options.training.seed, request.job->group());
}

}  // namespace dprof::trainer_harness
