// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/trainer.h"

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <stdexcept>

#include "trainer_harness/techniques/checksum.h"
#include "trainer_harness/techniques/markers.h"
#include "trainer_harness/train_loop.h"

namespace dprof::trainer_harness {
namespace {

void check_faults(const Options& options, int world_size) {
  for (const Fault& fault : options.faults) {
    if (fault.rank < world_size) continue;
    throw UsageError("--inject is for rank " + std::to_string(fault.rank) + ", but the job has " +
                     std::to_string(world_size) + "\nhint: ranks count from 0");
  }
}

// Before the training, not after it.
void check_truth_file(const Options& options) {
  if (options.output.truth.empty()) return;
  const std::filesystem::path folder =
      std::filesystem::absolute(options.output.truth).parent_path();
  if (std::filesystem::is_directory(folder)) return;
  throw UsageError("--truth " + options.output.truth.string() + ": there is no folder " +
                   folder.string() + "\nhint: make it first");
}

double median_ms(const std::vector<StepTime>& steps) {
  std::vector<int64_t> times;
  for (const StepTime& step : steps) times.push_back(step.duration_ns);
  if (times.empty()) return 0;
  const auto middle = times.begin() + static_cast<int64_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return static_cast<double>(*middle) * 1e-6;
}

std::string throughput_line(const RankTruth& truth, int64_t batch, int world_size) {
  const auto steps = static_cast<double>(truth.steps.size());
  const double seconds =
      static_cast<double>(truth.end.monotonic_raw_ns - truth.begin.monotonic_raw_ns) * 1e-9;
  std::ostringstream line;
  line << std::fixed << std::setprecision(2) << "done: " << truth.steps.size() << " steps in "
       << seconds << " s, median " << median_ms(truth.steps) << " ms per step, "
       << std::setprecision(0) << steps * static_cast<double>(batch) * world_size / seconds
       << " samples/s, " << std::setprecision(4) << "loss " << truth.first_loss << " -> "
       << truth.last_loss;
  return line.str();
}

// Data parallelism keeps the replicas equal: a difference means that a gradient was not, or not
// equally, averaged.
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

// On rank 0, if it was asked for: from every rank's account.
void write_job_truth(const Options& options, int64_t batch, const RankTruth& truth, Job* job) {
  const std::string own = encode(truth);
  if (job != nullptr) job->publish("truth", own);
  if (truth.rank != 0 || options.output.truth.empty()) return;
  std::vector<std::string> accounts = {own};
  const int world_size = job == nullptr ? 1 : job->world_size();
  for (int rank = 1; rank < world_size; ++rank) accounts.push_back(job->read("truth", rank));
  write_truth(
      options.output.truth,
      {options.training.model, options.distribution.backend == Backend::kNccl ? "nccl" : "gloo",
       world_size, batch, options.training.seed, options.faults},
      accounts);
}

void train(const Options& options, const std::optional<Rendezvous>& rendezvous) {
  if (options.output.marks == MarkKind::kNvtx && !kHasNvtx) {
    throw UsageError(
        "--marks nvtx: this dprof-trainer was built without the NVTX headers\n"
        "hint: use --marks user");
  }
  const int world_size = rendezvous ? rendezvous->world_size : 1;
  check_faults(options, world_size);
  check_truth_file(options);
  const Log log(rendezvous ? rendezvous->rank : 0, options.output.log_every_rank);

  std::optional<Job> job;
  if (rendezvous) {
    job.emplace(
        Job::join(*rendezvous, options.distribution.backend, options.distribution.timeout_s));
  }
  Job* const others = job ? &*job : nullptr;
  torch::Device device(torch::kCPU);
  if (options.distribution.backend == Backend::kNccl) {
    if (!rendezvous) {
      throw UsageError("--backend nccl needs ranks\nhint: start it with dprof record -n N");
    }
    device = torch::Device(torch::kCUDA, static_cast<c10::DeviceIndex>(rendezvous->local_rank));
  }

  RankTruth truth;
  truth.rank = log.rank();
  FaultInjector faults(options.faults, world_size, truth);
  Precision precision(options.training.amp,
                      options.training.grad_scaler.value_or(options.training.amp == Amp::kFp16));
  {
    const ModelSpec spec = find_model(options.training.model);
    Context context{options, spec, log, device, others, faults, precision, {}};
    TrainLoop loop(context, truth);
    loop.run();
    loop.strategy().gather_parameters();
    truth.checksum = checksum(loop.strategy().model());
    log.info(throughput_line(truth, loop.batch_size(), world_size));
    const bool equal = others != nullptr && loop.strategy().keeps_replicas_equal();
    if (equal) compare_replicas(*others, truth.checksum);
    log.info("parameters " + truth.checksum +
             (equal ? ", equal on all ranks: " + std::to_string(world_size) : ""));
    write_job_truth(options, loop.batch_size(), truth, others);
  }
  if (job) job->leave();
}

// Says which rank it was; a hint that `why` brings along is the better one.
std::string failure_text(const std::optional<Rendezvous>& rendezvous, std::string why) {
  if (!rendezvous) return why;
  if (why.find("\nhint: ") == std::string::npos) {
    why += "\nhint: if another rank failed first, its message says more";
  }
  return "rank " + std::to_string(rendezvous->rank) + ": " + why;
}

}  // namespace

std::vector<std::string> trainable_models() { return model_names(); }

void run_trainer(const Options& options) {
  const std::optional<Rendezvous> rendezvous = find_rendezvous(process_environment);
  try {
    train(options, rendezvous);
  } catch (const UsageError&) {
    throw;
  } catch (const c10::Error& error) {  // its what() carries a stack trace, which helps no user
    throw std::runtime_error(failure_text(rendezvous, error.what_without_backtrace()));
  } catch (const std::exception& error) {
    throw std::runtime_error(failure_text(rendezvous, error.what()));
  }
}

}  // namespace dprof::trainer_harness
