// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/activities/checkpoint_state.h"

#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/optim/adam.h>
#include <torch/optim/sgd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

namespace dprof::trainer_harness {
namespace {

constexpr const char* kFormatKey = "format";
constexpr const char* kFormat = "dprof-trainer/1";
constexpr size_t kNamesToShow = 3;

std::string text_of(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kNamesToShow); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kNamesToShow) text += ", ...";
  return text;
}

std::vector<std::string> names_only_in(const NamedTensors& one, const NamedTensors& other) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : one) {
    if (!other.contains(name)) names.push_back(name);
  }
  return names;
}

std::string sizes_of(const torch::Tensor& tensor) {
  std::ostringstream text;
  text << tensor.sizes();
  return text.str();
}

// Removes the prefix that a wrapper around the model adds to all names.
NamedTensors without_prefix(NamedTensors tensors) {
  const std::string prefix = kModulePrefix;
  const bool all = std::ranges::all_of(
      tensors, [&](const auto& entry) { return entry.first.starts_with(prefix); });
  if (!all) return tensors;
  NamedTensors stripped;
  for (auto& [name, tensor] : tensors) stripped.emplace(name.substr(prefix.size()), tensor);
  return stripped;
}

NamedTensors kept_for(const torch::optim::OptimizerParamState& state) {
  if (const auto* adam = dynamic_cast<const torch::optim::AdamParamState*>(&state)) {
    return {{"step", torch::tensor(adam->step(), torch::kLong)},
            {"exp_avg", adam->exp_avg()},
            {"exp_avg_sq", adam->exp_avg_sq()}};
  }
  if (const auto* sgd = dynamic_cast<const torch::optim::SGDParamState*>(&state)) {
    if (!sgd->momentum_buffer().defined()) return {};
    return {{"momentum_buffer", sgd->momentum_buffer()}};
  }
  throw std::runtime_error("the state of this optimizer cannot be saved");
}

std::unique_ptr<torch::optim::OptimizerParamState> state_from(
    const torch::optim::Optimizer& optimizer, const torch::Tensor& parameter, NamedTensors kept) {
  for (auto& [what, tensor] : kept) {
    if (what == "step") continue;
    if (tensor.sizes() != parameter.sizes()) throw std::runtime_error("its shape is another");
    tensor = tensor.to(parameter.device()).clone();
  }
  const bool is_adam = dynamic_cast<const torch::optim::Adam*>(&optimizer) != nullptr;
  const bool is_sgd = dynamic_cast<const torch::optim::SGD*>(&optimizer) != nullptr;
  if (is_adam && kept.contains("exp_avg") && kept.contains("exp_avg_sq") && kept.contains("step")) {
    auto adam = std::make_unique<torch::optim::AdamParamState>();
    adam->step(kept["step"].item<int64_t>());
    adam->exp_avg(kept["exp_avg"]);
    adam->exp_avg_sq(kept["exp_avg_sq"]);
    return adam;
  }
  if (is_sgd && kept.contains("momentum_buffer")) {
    auto sgd = std::make_unique<torch::optim::SGDParamState>();
    sgd->momentum_buffer(kept["momentum_buffer"]);
    return sgd;
  }
  throw std::runtime_error("it is of another optimizer");
}

std::vector<torch::Tensor> parameters_of(const torch::optim::Optimizer& optimizer) {
  std::vector<torch::Tensor> parameters;
  for (const torch::optim::OptimizerParamGroup& group : optimizer.param_groups()) {
    parameters.insert(parameters.end(), group.params().begin(), group.params().end());
  }
  return parameters;
}

}  // namespace

NamedTensors model_state(const Model& model, bool local) {
  std::set<const c10::TensorImpl*> locals;
  for (const torch::Tensor& parameter : model.local_parameters()) {
    locals.insert(parameter.unsafeGetTensorImpl());
  }
  NamedTensors state;
  for (const auto& item : model.named_parameters()) {
    if (locals.contains(item.value().unsafeGetTensorImpl()) != local) continue;
    state.emplace(item.key(), item.value());
  }
  if (local) return state;
  for (const auto& item : model.named_buffers()) state.emplace(item.key(), item.value());
  return state;
}

void fill(const NamedTensors& to, NamedTensors from, const std::string& file) {
  from = without_prefix(std::move(from));
  const std::vector<std::string> missing = names_only_in(to, from);
  const std::vector<std::string> unexpected = names_only_in(from, to);
  if (!missing.empty() || !unexpected.empty()) {
    throw std::runtime_error(
        file + " is of another model:" + (missing.empty() ? "" : " missing " + text_of(missing)) +
        (unexpected.empty() ? "" : " unexpected " + text_of(unexpected)) +
        "\nhint: resume with the --model that was saved");
  }
  const torch::NoGradGuard no_grad;
  for (const auto& [name, tensor] : to) {
    const torch::Tensor& saved = from.at(name);
    if (saved.sizes() != tensor.sizes()) {
      throw std::runtime_error(file + " is of another model: " + name + " is " + sizes_of(saved) +
                               " there, " + sizes_of(tensor) +
                               " here\nhint: resume with the --model that was saved");
    }
    torch::Tensor place = tensor;
    place.copy_(saved);
  }
}

OptimizerState optimizer_state(const torch::optim::Optimizer& optimizer,
                               const std::vector<std::string>& names) {
  const std::vector<torch::Tensor> parameters = parameters_of(optimizer);
  OptimizerState state;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto found = optimizer.state().find(parameters[i].unsafeGetTensorImpl());
    state.emplace(names.at(i),
                  found == optimizer.state().end() ? NamedTensors() : kept_for(*found->second));
  }
  return state;
}

void fill(torch::optim::Optimizer& optimizer, const std::vector<std::string>& names,
          const OptimizerState& state, const std::string& folder) {
  const std::vector<torch::Tensor> parameters = parameters_of(optimizer);
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto saved = state.find(names.at(i));
    if (saved == state.end()) {
      throw std::runtime_error(
          folder + " has no optimizer's state for " + names.at(i) +
          "\nhint: resume with the --strategy and the number of ranks that saved it");
    }
    if (saved->second.empty()) continue;
    try {
      optimizer.state()[parameters[i].unsafeGetTensorImpl()] =
          state_from(optimizer, parameters[i], saved->second);
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(folder + ": the optimizer's state for " + names.at(i) +
                               " cannot be used: " + error.what() +
                               "\nhint: resume with the --optimizer and --strategy that saved it");
    }
  }
}

Dictionary make_dictionary() { return Dictionary(c10::StringType::get(), c10::AnyType::get()); }

Dictionary to_dictionary(const NamedTensors& tensors, const std::string& prefix) {
  Dictionary dictionary(c10::StringType::get(), c10::TensorType::get());
  for (const auto& [name, tensor] : tensors) {
    // A copy, since a view would be saved with its whole storage.
    dictionary.insert(prefix + name, tensor.detach().to(torch::kCPU, /*non_blocking=*/false,
                                                        /*copy=*/true));
  }
  return dictionary;
}

NamedTensors from_dictionary(const Dictionary& dictionary) {
  NamedTensors tensors;
  for (const auto& entry : dictionary) {
    tensors.emplace(entry.key().toStringRef(), entry.value().toTensor());
  }
  return tensors;
}

void write_dictionary(const std::filesystem::path& file, const std::filesystem::path& part,
                      const Dictionary& dictionary) {
  dictionary.insert(kFormatKey, kFormat);
  const std::vector<char> bytes = torch::jit::pickle_save(dictionary);
  std::ofstream out(part, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) {
    throw std::runtime_error(
        part.string() + " cannot be written\nhint: is the disk full, or the folder another's?");
  }
  std::filesystem::rename(part, file);
}

Dictionary read_dictionary(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(in)),
                                std::istreambuf_iterator<char>());
  const std::string hint = "\nhint: give the folder of another checkpoint, or remove this one";
  if (in.bad() || bytes.empty()) {
    throw std::runtime_error(file.string() + " cannot be read, or is empty" + hint);
  }
  c10::IValue value;
  try {
    value = torch::jit::pickle_load(bytes);
  } catch (const std::exception&) {  // its text is about zip files, with a stack trace
    throw std::runtime_error(file.string() + " is damaged, or no checkpoint" + hint);
  }
  if (value.isGenericDict()) {
    Dictionary dictionary = value.toGenericDict();
    const auto format = dictionary.find(kFormatKey);
    if (format != dictionary.end() && format->value().isString() &&
        format->value().toStringRef() == kFormat) {
      return dictionary;
    }
  }
  throw std::runtime_error(file.string() + " is no checkpoint of dprof-trainer" + hint);
}

}  // namespace dprof::trainer_harness
