// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/activities/checkpoint.h"

#include <stdexcept>
#include <string>

#include "trainer_harness/activities/checkpoint_state.h"
#include "trainer_harness/ranks/rendezvous.h"

namespace dprof::trainer_harness {
namespace {

constexpr const char* kModelKey = "model";
constexpr const char* kStepKey = "step";
constexpr const char* kEpochKey = "epoch";
constexpr const char* kSamplesKey = "samples_in_epoch";  // of all ranks
constexpr const char* kSeedKey = "seed";
constexpr const char* kRanksKey = "ranks";
constexpr const char* kStateKey = "state";
constexpr const char* kResumedKey = "resumed";  // in the store

StrategyKind kind_of(const Context& context) {
  return chosen_strategy(context.options, context.job != nullptr);
}

bool has_local_parameters(Strategy& strategy) {
  return !strategy.model().local_parameters().empty();
}

// Whether each rank holds the optimizer's state for different parameters.
bool divides_optimizer(const Context& context, Strategy& strategy) {
  switch (kind_of(context)) {
    case StrategyKind::kModelParallel:
    case StrategyKind::kZero1:
    case StrategyKind::kZero2:
    case StrategyKind::kZero3:
      return true;
    default:
      return has_local_parameters(strategy);
  }
}

bool saves(const Context& context) {
  switch (context.options.output.save_by) {
    case SaveBy::kAll:
      return true;
    case SaveBy::kLocal0: {
      const auto rendezvous =
          find_rendezvous(process_environment, context.options.launch.local_rank);
      return !rendezvous || rendezvous->local_rank == 0;
    }
    case SaveBy::kRank0:
      break;
  }
  return context.rank() == 0;
}

std::string rank_text(const Context& context) { return "rank-" + std::to_string(context.rank()); }

// Samples of all ranks together in a micro-step.
int64_t global_batch(const Context& context, Strategy& strategy) {
  const TrainingOptions& options = context.options.training;
  if (options.global_batch) return *options.global_batch;
  const bool slices = strategy.batch_slice(1).has_value();
  const int ways = slices ? context.world_size() : strategy.data_share().first;
  return options.batch.value_or(context.spec.batch) * ways;
}

// The parameters' own names. A piece of one rank gets a name that includes the rank and the world
// size, so that it is never found with another number of ranks.
std::vector<std::string> optimizer_names(const Context& context, Strategy& strategy) {
  const Model& model = strategy.model();
  std::map<const c10::TensorImpl*, std::string> known;
  for (const auto& item : model.named_parameters()) {
    known.emplace(item.value().unsafeGetTensorImpl(), item.key());
  }
  const std::string here =
      " of rank " + std::to_string(context.rank()) + " in " + std::to_string(context.world_size());
  for (const torch::Tensor& parameter : model.local_parameters()) {
    known[parameter.unsafeGetTensorImpl()] += here;
  }
  std::vector<std::string> names;
  for (const torch::Tensor& parameter : strategy.updated_parameters()) {
    const auto name = known.find(parameter.unsafeGetTensorImpl());
    names.push_back(name != known.end() ? name->second
                                        : "piece " + std::to_string(names.size()) + here);
  }
  return names;
}

Dictionary description(const Context& context) {
  Dictionary file = make_dictionary();
  file.insert(kModelKey, context.spec.name);
  file.insert(kStepKey, context.progress.step);
  file.insert(kRanksKey, static_cast<int64_t>(context.world_size()));
  return file;
}

int64_t number(const Dictionary& file, const char* key, const std::filesystem::path& where) {
  const auto entry = file.find(key);
  if (entry != file.end() && entry->value().isInt()) return entry->value().toInt();
  throw std::runtime_error(where.string() + " has no " + key +
                           "\nhint: it belongs to another version of dprof-trainer");
}

Dictionary part_of(const Dictionary& file, const char* key, const std::filesystem::path& where) {
  const auto entry = file.find(key);
  if (entry != file.end() && entry->value().isGenericDict()) return entry->value().toGenericDict();
  throw std::runtime_error(where.string() + " has no " + key +
                           "\nhint: it belongs to another version of dprof-trainer");
}

void save_model(const Context& context, Strategy& strategy, const std::string& name, bool local) {
  Dictionary file = description(context);
  file.insert(kEpochKey, context.progress.epoch);
  file.insert(kSamplesKey, context.progress.batches_in_epoch * global_batch(context, strategy));
  file.insert(kSeedKey, static_cast<int64_t>(context.options.training.seed));
  file.insert(kStateKey, to_dictionary(model_state(strategy.model(), local),
                                       context.options.output.module_prefix ? kModulePrefix : ""));
  const std::filesystem::path& folder = context.options.output.checkpoint;
  write_dictionary(folder / name, folder / (name + "." + rank_text(context) + ".part"), file);
}

void save_optimizer(const Context& context, Strategy& strategy,
                    const torch::optim::Optimizer& optimizer, const std::string& name) {
  Dictionary file = description(context);
  Dictionary state = make_dictionary();
  for (const auto& [parameter, kept] :
       optimizer_state(optimizer, optimizer_names(context, strategy))) {
    state.insert(parameter, to_dictionary(kept, ""));
  }
  file.insert(kStateKey, state);
  const std::filesystem::path& folder = context.options.output.checkpoint;
  write_dictionary(folder / name, folder / (name + "." + rank_text(context) + ".part"), file);
}

// Whether the folder has a checkpoint to resume. Throws if it has other files instead.
bool has_checkpoint(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder)) return false;
  if (std::filesystem::exists(folder / "model.pt")) return true;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".part") continue;  // an unfinished first checkpoint
    const std::string name = entry.path().filename().string();
    if (name.starts_with("optimizer.") || name.starts_with("model.rank-")) continue;  // likewise
    throw std::runtime_error(
        folder.string() +
        " has no model.pt, but other files\n"
        "hint: give the folder of a checkpoint, or an empty one to start afresh");
  }
  return false;
}

void resume_model(Context& context, Strategy& strategy) {
  const std::filesystem::path& folder = context.options.output.checkpoint;
  const std::filesystem::path path = folder / "model.pt";
  const Dictionary file = read_dictionary(path);
  strategy.gather_parameters();
  fill(model_state(strategy.model(), false), from_dictionary(part_of(file, kStateKey, path)),
       path.string());
  if (has_local_parameters(strategy)) {
    const std::filesystem::path own = folder / ("model." + rank_text(context) + ".pt");
    if (!std::filesystem::exists(own)) {
      throw std::runtime_error(own.string() +
                               " is not there\nhint: resume with the number of ranks that saved");
    }
    const Dictionary local = read_dictionary(own);
    if (number(local, kRanksKey, own) != context.world_size() ||
        number(local, kStepKey, own) != number(file, kStepKey, path)) {
      throw std::runtime_error(own.string() + " is of another job than " + path.string() +
                               "\nhint: resume with the number of ranks that saved");
    }
    fill(model_state(strategy.model(), true), from_dictionary(part_of(local, kStateKey, own)),
         own.string());
  }
  strategy.scatter_parameters();
  if (number(file, kSeedKey, path) != static_cast<int64_t>(context.options.training.seed)) {
    context.log.info("resuming with another --seed: the order of the samples is another");
  }
  context.progress.step = number(file, kStepKey, path);
  context.progress.epoch = number(file, kEpochKey, path);
  context.progress.batches_in_epoch =
      number(file, kSamplesKey, path) / global_batch(context, strategy);
}

void resume_optimizer(const Context& context, Strategy& strategy,
                      torch::optim::Optimizer& optimizer) {
  const std::filesystem::path& folder = context.options.output.checkpoint;
  OptimizerState state;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("optimizer.") || !name.ends_with(".pt")) continue;
    const Dictionary file = read_dictionary(entry.path());
    if (number(file, kStepKey, entry.path()) != context.progress.step) continue;
    for (const auto& kept : part_of(file, kStateKey, entry.path())) {
      state.insert_or_assign(kept.key().toStringRef(),
                             from_dictionary(kept.value().toGenericDict()));
    }
  }
  fill(optimizer, optimizer_names(context, strategy), state, folder.string());
}

// Throws if ranks resume at different steps: from different folders they would train different
// models.
void compare_progress(Context& context) {
  if (context.job == nullptr) return;
  const std::string own = std::to_string(context.progress.step);
  context.job->publish(kResumedKey, own);
  const std::string first = context.job->read(kResumedKey, 0);
  if (first == own) return;
  throw std::runtime_error("resumes at step " + own + ", rank 0 at step " + first +
                           "\nhint: --checkpoint must be a folder that all hosts share");
}

}  // namespace

void save_checkpoint(Context& context, Strategy& strategy,
                     const torch::optim::Optimizer* optimizer) {
  const std::filesystem::path& folder = context.options.output.checkpoint;
  strategy.gather_parameters();
  std::filesystem::create_directories(folder);
  const bool divides = divides_optimizer(context, strategy);
  // A parameter server's optimizer is the only one, so it always saves.
  if (optimizer != nullptr && (divides || strategy.serves() || saves(context))) {
    save_optimizer(context, strategy, *optimizer,
                   divides ? "optimizer." + rank_text(context) + ".pt" : "optimizer.pt");
  }
  if (has_local_parameters(strategy)) {
    save_model(context, strategy, "model." + rank_text(context) + ".pt", /*local=*/true);
  }
  if (!saves(context) || strategy.serves()) return;
  save_model(context, strategy, "model.pt", /*local=*/false);
  context.log.info("saved " + (folder / "model.pt").string());
}

void resume_checkpoint(Context& context, Strategy& strategy, torch::optim::Optimizer* optimizer) {
  const std::filesystem::path& folder = context.options.output.checkpoint;
  if (has_checkpoint(folder)) {
    resume_model(context, strategy);
    if (optimizer != nullptr) resume_optimizer(context, strategy, *optimizer);
    context.log.info("resumed " + folder.string() + " at epoch " +
                     std::to_string(context.progress.epoch) + ", step " +
                     std::to_string(context.progress.step));
  } else {
    context.log.info("nothing to resume in " + folder.string() + ": a fresh start");
  }
  compare_progress(context);
}

}  // namespace dprof::trainer_harness
