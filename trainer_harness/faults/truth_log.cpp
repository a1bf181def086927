// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/faults/truth_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>

#include "trainer_harness/faults/truth_json.h"

namespace dprof::trainer_harness {
namespace {

constexpr size_t kManySteps = 100;
constexpr int64_t kLongNs = 1'000'000'000;

}  // namespace

std::filesystem::path truth_part(const std::filesystem::path& truth_file, int rank) {
  return truth_file.string() + ".rank-" + std::to_string(rank);
}

void clear_truth(const std::filesystem::path& truth_file) {
  std::error_code error;
  std::filesystem::remove(truth_file, error);
  const std::string parts = truth_file.filename().string() + ".rank-";
  const std::filesystem::path folder = std::filesystem::absolute(truth_file).parent_path();
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const bool part =
        name.starts_with(parts) && name.find_first_not_of("0123456789", parts.size()) == name.npos;
    if (part && name.size() > parts.size()) std::filesystem::remove(entry.path(), error);
  }
}

TruthLog::TruthLog(const std::filesystem::path& truth_file, JobTruth job, const RankTruth& rank,
                   bool restarted)
    : job_(std::move(job)), rank_(rank) {
  if (truth_file.empty()) return;
  const std::filesystem::path part = truth_part(truth_file, rank.rank);
  file_ = open(part.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (restarted ? 0 : O_TRUNC),
               0644);
  if (file_ < 0) {
    throw std::runtime_error("cannot write " + part.string() +
                             "\nhint: --truth needs a file in a folder that exists");
  }
}

TruthLog::~TruthLog() {
  if (file_ >= 0) close(file_);
}

void TruthLog::strike(const Strike& strike) {
  if (file_ < 0) return;
  const std::string duration =
      strike.duration_ns == kNoDuration ? "null" : std::to_string(strike.duration_ns);
  append(fmt::format(
      R"({{"event":"strike","fault":{},"step":{},"begin":{{"realtime_ns":{},"monotonic_raw_ns":{}}},"duration_ns":{}}})",
      strike.fault, strike.step, strike.begin.realtime_ns, strike.begin.monotonic_raw_ns,
      duration));
}

void TruthLog::deed(const Deed& deed) {
  if (file_ < 0) return;
  TruthJson line = {{"event", "deed"}};
  line.update(to_json(deed));
  append(line.dump());
}

void TruthLog::note_steps() {
  if (file_ < 0) return;
  const size_t waiting = rank_.steps.size() - steps_written_;
  if (waiting == 0) return;
  const StepTime& last = rank_.steps.back();
  if (waiting < kManySteps && last.begin_monotonic_raw_ns - written_ns_ < kLongNs) return;
  written_ns_ = last.begin_monotonic_raw_ns;
  flush_steps();
}

void TruthLog::flush_steps() {
  if (file_ < 0 || steps_written_ == rank_.steps.size()) return;
  std::vector<int64_t> begins;
  std::vector<int64_t> durations;
  for (size_t i = steps_written_; i < rank_.steps.size(); ++i) {
    begins.push_back(rank_.steps[i].begin_monotonic_raw_ns);
    durations.push_back(rank_.steps[i].duration_ns);
  }
  std::vector<int64_t> samples;
  for (size_t i = steps_written_; i < std::min(rank_.steps.size(), rank_.samples.size()); ++i) {
    samples.push_back(rank_.samples[i]);
  }
  std::vector<std::string> hashes;
  for (size_t i = steps_written_; i < std::min(rank_.steps.size(), rank_.index_hashes.size());
       ++i) {
    hashes.push_back(fmt::format("\"{:016x}\"", rank_.index_hashes[i]));
  }
  steps_written_ = rank_.steps.size();
  append(
      fmt::format(R"({{"event":"steps","begin":[{}],"ns":[{}],"samples":[{}],"index_hash":[{}]}})",
                  fmt::join(begins, ","), fmt::join(durations, ","), fmt::join(samples, ","),
                  fmt::join(hashes, ",")));
}

void TruthLog::end() {
  if (file_ < 0) return;
  flush_steps();
  const TruthJson line = {{"event", "end"},
                          {"end", to_json(rank_.end)},
                          {"checksum", rank_.checksum},
                          {"first_loss", rank_.first_loss},
                          {"last_loss", rank_.last_loss},
                          {"state_bytes", state_json(rank_)}};
  append(line.dump());
  const std::lock_guard lock(mutex_);
  if (broken_) {
    throw std::runtime_error(
        "the account of this rank could not be written whole\nhint: is the disk of --truth full?");
  }
}

void TruthLog::fail(std::string_view why) {
  if (file_ < 0) return;
  flush_steps();
  const TruthJson line = {
      {"event", "failed"}, {"at", to_json(now())}, {"why", why.substr(0, why.find('\n'))}};
  append(line.dump(-1, ' ', false, TruthJson::error_handler_t::replace));
}

void TruthLog::append(std::string line) {
  const std::lock_guard lock(mutex_);
  if (!begun_) begin();
  line += '\n';
  // One call writes the whole line, unless the disk is full.
  ssize_t written = 0;
  do {
    written = write(file_, line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  broken_ = broken_ || written != static_cast<ssize_t>(line.size());
}

// Written with the first other line: only then is it known what the rank trains.
void TruthLog::begin() {
  TruthJson faults = TruthJson::array();
  for (const Fault& fault : job_.faults) faults.push_back(fault.text);
  const TruthJson line = {{"event", "begin"},
                          {"rank", rank_.rank},
                          {"pid", getpid()},
                          {"host", host_name()},
                          {"begin", to_json(rank_.begin)},
                          {"batch", rank_.batch},
                          {"model", job_.model},
                          {"backend", job_.backend},
                          {"world_size", job_.world_size},
                          {"seed", job_.seed},
                          {"faults", std::move(faults)}};
  const std::string text = line.dump() + '\n';
  begun_ = true;
  broken_ = write(file_, text.data(), text.size()) != static_cast<ssize_t>(text.size());
}

}  // namespace dprof::trainer_harness
