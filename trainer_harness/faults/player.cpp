// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/faults/player.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <future>
#include <stdexcept>
#include <thread>

#include "trainer_harness/common/log.h"

namespace dprof::trainer_harness {
namespace {

constexpr double kBytesPerMiB = 1 << 20;
constexpr int kChurnedTensors = 64;
constexpr int kHangTimeouts = 10;
constexpr size_t kPlaces = static_cast<size_t>(Place::kNone) + 1;

std::chrono::nanoseconds length_of(const Fault& fault) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double, std::milli>(fault.ms));
}

// All ranks take part in these; one rank does it wrong.
bool is_joint(FaultKind kind) {
  return kind == FaultKind::kWrongSize || kind == FaultKind::kWrongOrder;
}

// These are recorded before they happen: afterwards it may be too late.
bool may_end_rank(FaultKind kind) {
  return is_joint(kind) || kind == FaultKind::kEarlyExit || kind == FaultKind::kHang ||
         kind == FaultKind::kCrash || kind == FaultKind::kKill;
}

std::unique_ptr<LastingFault> make_lasting(const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::kCpuContention:
      return make_cpu_contention();
    case FaultKind::kPinnedCore:
      return make_pinned_core(/*shared=*/fault.rank == kEveryRank);
    case FaultKind::kSlowLink:
      return make_link_fault(fault);
    default:
      return nullptr;
  }
}

// Hangs until the launcher has gone, but for a limited time, so that no forgotten rank remains.
[[noreturn]] void hang(int64_t timeout_s) {
  using Clock = std::chrono::steady_clock;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const pid_t parent = getppid();
  const Clock::time_point end = Clock::now() + std::chrono::seconds(kHangTimeouts * timeout_s);
  while (Clock::now() < end && getppid() == parent) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  throw std::runtime_error("the fault hang is over: the rank ends\nhint: it was asked for");
}

}  // namespace

FaultPlayer::FaultPlayer(std::vector<Fault> faults, const FaultScene& scene, RankTruth& truth,
                         FaultActions& actions, TruthLog* log)
    : faults_(std::move(faults)),
      scene_(scene),
      truth_(truth),
      actions_(actions),
      log_(log),
      at_place_(kPlaces),
      struck_(faults_.size(), 0) {
  for (size_t i = 0; i < faults_.size(); ++i) {
    const Fault& fault = faults_[i];
    if (!is_for_this_rank(fault) && !is_joint(fault.kind)) continue;
    if (std::unique_ptr<LastingFault> effect = make_lasting(fault)) {
      lasting_.push_back({i, std::move(effect), false, false, {}});
    } else {
      at_place_[static_cast<size_t>(fault_row(fault.kind).place)].push_back(i);
    }
  }
}

void FaultPlayer::visit(Place place, int64_t step) {
  if (place == Place::kStepBegin) {
    if (log_ != nullptr) log_->note_steps();
    if (!lasting_.empty()) begin_lasting(step);
  }
  for (const size_t index : at_place(place)) {
    if (due(index, step)) act(index, step);
  }
  if (place == Place::kStepEnd && !lasting_.empty()) end_lasting(step);
}

bool FaultPlayer::due(size_t index, int64_t step) {
  const Fault& fault = faults_[index];
  if (is_joint(fault.kind)) return step == fault.from;
  if (!strikes(fault, index, scene_, step)) return false;
  const std::lock_guard lock(mutex_);
  return !fault.once || struck_[index] == 0;
}

void FaultPlayer::act(size_t index, int64_t step) {
  const Fault& fault = faults_[index];
  if (may_end_rank(fault.kind)) {
    if (log_ != nullptr) log_->flush_steps();
    if (is_for_this_rank(fault)) account({index, step, now(), kNoDuration});
    end_rank(fault.kind);
    if (is_joint(fault.kind)) {
      const bool wrong = is_for_this_rank(fault);
      fault.kind == FaultKind::kWrongSize ? actions_.reduce_sizes(wrong)
                                          : actions_.reduce_groups(wrong);
    }
    return;
  }
  const Moment begin = now();
  suffer(index, step);
  account({index, step, begin, now().monotonic_raw_ns - begin.monotonic_raw_ns});
}

void FaultPlayer::end_rank(FaultKind kind) {
  switch (kind) {
    case FaultKind::kEarlyExit:
      throw EarlyExit();
    case FaultKind::kHang:
      hang(scene_.timeout_s);
    case FaultKind::kCrash:
      std::signal(SIGSEGV, SIG_DFL);
      raise(SIGSEGV);
      break;
    case FaultKind::kKill:
      raise(SIGKILL);
      break;
    default:
      break;
  }
}

void FaultPlayer::suffer(size_t index, int64_t step) {
  const Fault& fault = faults_[index];
  switch (fault.kind) {
    case FaultKind::kSync:
      if (actions_.has_device()) {
        actions_.spin(length_of(fault));
      } else {
        std::async(std::launch::async, [&] { hold(fault); }).wait();
      }
      break;
    case FaultKind::kBucketCap:
      account({index, "bucket_mb", fault.mb});
      break;
    case FaultKind::kLeak:
      actions_.leak(static_cast<int64_t>(fault.mb * kBytesPerMiB));
      break;
    case FaultKind::kAllocChurn:
      churn(index, step);
      break;
    case FaultKind::kEmptyCache:
      empty_cache(fault);
      break;
    default:
      hold(fault);
  }
}

void FaultPlayer::hold(const Fault& fault) {
  if (fault.spin) {
    actions_.spin(length_of(fault));
  } else {
    std::this_thread::sleep_for(length_of(fault));
  }
}

void FaultPlayer::churn(size_t index, int64_t step) {
  const Fault& fault = faults_[index];
  const auto end = std::chrono::steady_clock::now() + length_of(fault);
  for (int64_t i = 0; fault.ms > 0 ? std::chrono::steady_clock::now() < end : i < kChurnedTensors;
       ++i) {
    const double part = chance(scene_, index, (step << 20) + i);
    actions_.churn(1 + static_cast<int64_t>(part * fault.mb * kBytesPerMiB));
  }
}

void FaultPlayer::empty_cache(const Fault& fault) {
  const auto end = std::chrono::steady_clock::now() + length_of(fault);
  do {
    actions_.empty_cache();
  } while (std::chrono::steady_clock::now() < end);
}

void FaultPlayer::begin_lasting(int64_t step) {
  for (Lasting& lasting : lasting_) {
    const bool wanted = strikes(faults_[lasting.fault], lasting.fault, scene_, step);
    if (wanted != lasting.on) {
      wanted ? lasting.effect->begin() : lasting.effect->end();
      lasting.on = wanted;
      for (Deed& deed : lasting.effect->deeds(lasting.fault)) account(std::move(deed));
    }
    lasting.in_step = wanted;
    if (wanted) lasting.since = now();
  }
}

void FaultPlayer::end_lasting(int64_t step) {
  const int64_t end_ns = now().monotonic_raw_ns;
  for (Lasting& lasting : lasting_) {
    if (!lasting.in_step) continue;
    lasting.in_step = false;
    account({lasting.fault, step, lasting.since, end_ns - lasting.since.monotonic_raw_ns});
  }
}

double FaultPlayer::factor(FaultKind kind, int64_t step) {
  double factor = 1;
  for (const size_t index : at_place(Place::kNone)) {
    const Fault& fault = faults_[index];
    if (fault.kind != kind || !due(index, step)) continue;
    factor *= 1 + fault.share;
    account({index, step, now(), kNoDuration});
  }
  return factor;
}

double FaultPlayer::batch_factor(int64_t step) { return factor(FaultKind::kSkewedBatch, step); }
double FaultPlayer::length_factor(int64_t step) { return factor(FaultKind::kLongSequences, step); }

void FaultPlayer::finish() {
  for (Lasting& lasting : lasting_) {
    if (!lasting.on) continue;
    lasting.effect->end();
    lasting.on = false;
    for (Deed& deed : lasting.effect->deeds(lasting.fault)) account(std::move(deed));
  }
  for (size_t i = 0; i < faults_.size(); ++i) {
    if (faults_[i].kind != FaultKind::kLeak || !is_for_this_rank(faults_[i])) continue;
    account({i, "bytes", static_cast<int64_t>(faults_[i].mb * kBytesPerMiB) * struck_[i]});
  }
  const std::lock_guard lock(mutex_);
  over_ = true;
  for (size_t i = 0; i < faults_.size(); ++i) {
    if (!is_for_this_rank(faults_[i]) || struck_[i] > 0) continue;
    log_error(
        fmt::format("rank {}: --inject {} never struck here\n"
                    "hint: this job had no such step, or never came to that place",
                    scene_.rank, faults_[i].text));
  }
}

void FaultPlayer::account(const Strike& strike) {
  const std::lock_guard lock(mutex_);
  if (over_) return;
  ++struck_[strike.fault];
  truth_.strikes.push_back(strike);
  if (log_ != nullptr) log_->strike(strike);
}

void FaultPlayer::account(Deed deed) {
  if (log_ != nullptr) log_->deed(deed);
  const std::lock_guard lock(mutex_);
  truth_.deeds.push_back(std::move(deed));
}

}  // namespace dprof::trainer_harness
