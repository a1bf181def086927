// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/trainer.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iomanip>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "trainer_harness/common/log.h"
#include "trainer_harness/common/usage_error.h"
#include "trainer_harness/faults/torch_actions.h"
#include "trainer_harness/faults/truth_merge.h"
#include "trainer_harness/settings/check_options.h"
#include "trainer_harness/start_up.h"
#include "trainer_harness/summary.h"
#include "trainer_harness/techniques/checksum.h"
#include "trainer_harness/techniques/markers.h"
#include "trainer_harness/train_loop.h"

namespace dprof::trainer_harness {
namespace {

constexpr int kMergeAttempts = 10;
constexpr std::chrono::milliseconds kMergePause{100};

// Samples of all ranks on rank 0, of this rank elsewhere.
int64_t samples_in_job(const SamplesTaken& own, Job* job) {
  if (job == nullptr) return samples_of_job({own});
  job->publish("samples", own.text());
  if (job->rank() != 0) return own.samples;
  std::vector<SamplesTaken> ranks;
  for (int rank = 0; rank < job->world_size(); ++rank) {
    ranks.push_back(SamplesTaken::read(job->read("samples", rank)));
  }
  return samples_of_job(ranks);
}

// Data parallelism keeps the replicas equal: a difference means that a gradient was not averaged,
// or not equally on all ranks.
void compare_replicas(Job& job, const std::string& own) {
  job.publish("checksum", own);
  for (int rank = 0; rank < job.world_size(); ++rank) {
    const std::string theirs = job.read("checksum", rank);
    if (theirs == own) continue;
    throw std::runtime_error("the replicas differ: parameters are " + own + " on rank " +
                             std::to_string(job.rank()) + ", " + theirs + " on rank " +
                             std::to_string(rank) +
                             "\nhint: some gradient was not averaged, or not equally");
  }
}

// With --truth, rank 0 writes the file from every rank's account.
void write_job_truth(const Options& options, const RankTruth& truth, TruthLog& account, Job* job) {
  if (options.output.truth.empty()) return;
  account.end();
  const std::string own = encode(truth);
  if (job != nullptr) job->publish("truth", own);
  if (truth.rank != 0) return;
  std::vector<std::string> accounts = {own};
  const int world_size = job == nullptr ? 1 : job->world_size();
  for (int rank = 1; rank < world_size; ++rank) accounts.push_back(job->read("truth", rank));
  (void)merge_truth(options.output.truth, accounts);
}

// Saves what this rank and its host know of a failed job.
void rescue_truth(const Options& options, int rank, TruthLog& account, const char* why) noexcept {
  if (options.output.truth.empty()) return;
  try {
    account.fail(why);
    // The other ranks fail at about the same time and write accounts too.
    for (int i = 0; i < kMergeAttempts && rank == 0 && !merge_truth(options.output.truth); ++i) {
      std::this_thread::sleep_for(kMergePause);
    }
  } catch (const std::exception& error) {
    log_error(error.what());
  }
}

bool is_restart() {
  const std::optional<std::string> count = process_environment("TORCHELASTIC_RESTART_COUNT");
  return count && *count != "0";
}

// The fault bucket-cap is a setting, and has no meaning for strategies without buckets.
Options with_set_faults(const Options& options, bool has_ranks) {
  Options changed = options;
  for (const Fault& fault : options.faults) {
    if (fault.kind != FaultKind::kBucketCap) continue;
    if (chosen_strategy(options, has_ranks) != StrategyKind::kDdp) {
      throw UsageError("--inject " + fault.text +
                       ": only ddp has buckets\nhint: leave out --strategy, and start ranks");
    }
    changed.distribution.bucket_mb = fault.mb;
  }
  return changed;
}

void check_sequence_faults(const Options& options, const ModelSpec& spec) {
  for (const Fault& fault : options.faults) {
    if (fault.kind != FaultKind::kLongSequences || spec.sequences) continue;
    throw UsageError("--inject " + fault.text + ": the batches of " + spec.name +
                     " are no sequences\nhint: take a model of language, as bert-tiny");
  }
}

// Stages of a pipeline take the same samples; otherwise each rank takes its own.
SamplesTaken own_samples(const Context& context, TrainLoop& loop, const RankTruth& truth) {
  const int part = loop.strategy().data_share().second;
  const bool stages =
      chosen_strategy(context.options, context.job != nullptr) == StrategyKind::kModelParallel;
  return samples_taken(truth, part < 0 || stages ? part : context.rank());
}

// Runs once all ranks have joined.
void train_together(Context& context, RankTruth& truth, TruthLog& account) {
  Job* const others = context.job;
  const Log& log = context.log;
  TrainLoop loop(context, truth);
  truth.batch = loop.batch_size();
  loop.run();
  context.faults.finish();
  loop.strategy().gather_parameters();
  truth.checksum = checksum(loop.strategy().model());
  log.info(throughput_text(truth, samples_in_job(own_samples(context, loop, truth), others)));
  log.info(state_text(truth));
  const bool equal = others != nullptr && loop.strategy().keeps_replicas_equal();
  if (equal) compare_replicas(*others, truth.checksum);
  log.info("parameters " + truth.checksum +
           (equal ? ", equal on all ranks: " + std::to_string(context.world_size()) : ""));
  write_job_truth(context.options, truth, account, others);
}

// What only the model itself can refuse, once all have joined. Destroying the job first would close
// its connections: a rank that still connects would fail, and end before this one with its code.
[[noreturn]] void leave_at_once(const UsageError& error) {
  log_error(error.what());
  std::_Exit(UsageError::kExitCode);
}

void train(const Options& asked, const std::optional<Rendezvous>& rendezvous) {
  if (asked.output.marks == MarkKind::kNvtx && !kHasNvtx) {
    throw UsageError(
        "--marks nvtx: this dprof-trainer was built without the NVTX headers\n"
        "hint: use --marks user");
  }
  const int world_size = rendezvous ? rendezvous->world_size : 1;
  check_options(asked, {rendezvous.has_value(), world_size, is_restart()});
  take_place(asked, rendezvous);
  const Options options = with_set_faults(asked, rendezvous.has_value());
  const Log log(rendezvous ? rendezvous->rank : 0, options.output.log_every_rank);
  const bool restarted = is_restart();
  const bool writes_truth = log.rank() == 0 && !options.output.truth.empty();
  if (writes_truth && !restarted) clear_truth(options.output.truth);

  const ModelSpec spec = find_model(options.training.model);
  check_sequence_faults(options, spec);
  const torch::Device device = find_device(options, rendezvous);
  std::optional<Job> job;
  if (rendezvous) job.emplace(meet_others(options, *rendezvous, device));
  Job* const others = job ? &*job : nullptr;

  RankTruth truth;
  truth.rank = log.rank();
  const char* const backend = options.distribution.backend == Backend::kNccl ? "nccl" : "gloo";
  TruthLog account(
      options.output.truth,
      {options.training.model, backend, world_size, options.training.seed, options.faults}, truth,
      restarted);
  const std::unique_ptr<FaultActions> actions = make_torch_actions(device, others);
  FaultPlayer faults(
      options.faults,
      {log.rank(), world_size, options.training.seed, options.distribution.timeout_s, restarted},
      truth, *actions, &account);
  Precision precision(options);
  Context context{options, spec, log, device, others, faults, precision, {}};
  try {
    train_together(context, truth, account);
  } catch (const UsageError& error) {
    rescue_truth(options, log.rank(), account, error.what());
    leave_at_once(error);
  } catch (const std::exception& error) {
    rescue_truth(options, log.rank(), account, error.what());
    throw;
  }
  if (job) job->leave();
}

// Names the rank. A hint in `why` takes precedence over the general one.
std::string failure_text(const std::optional<Rendezvous>& rendezvous, std::string why) {
  if (!rendezvous) return why;
  if (why.find("\nhint: ") == std::string::npos) {
    why += "\nhint: if another rank failed first, its message says more";
  }
  return "rank " + std::to_string(rendezvous->rank) + ": " + why;
}

}  // namespace

std::vector<ModelLine> trainable_models() {
  std::vector<ModelLine> models;
  for (const ModelSpec& spec : model_catalogue()) models.push_back({spec.name, spec.about});
  return models;
}

void run_trainer(const Options& options) {
  const std::optional<Rendezvous> rendezvous =
      find_rendezvous(process_environment, options.launch.local_rank);
  try {
    train(options, rendezvous);
  } catch (const UsageError&) {
    throw;
  } catch (const EarlyExit&) {
    return;
  } catch (const c10::Error& error) {  // its what() has a stack trace, of no use to users
    throw std::runtime_error(failure_text(rendezvous, error.what_without_backtrace()));
  } catch (const std::exception& error) {
    throw std::runtime_error(failure_text(rendezvous, error.what()));
  }
}

}  // namespace dprof::trainer_harness
