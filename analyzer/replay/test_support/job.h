// SPDX-License-Identifier: Apache-2.0
// A simulated job for tests.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/match/test_support/test_run.h"
#include "analyzer/replay/replay.h"
#include "analyzer/replay/what_if.h"
#include "analyzer/waits/test_support/matched.h"

namespace dprof::analyzer {

// A rank that records the end of a call too late by this much, and has already continued.
struct LateNote {
  int rank = -1;
  int64_t ns = 0;
};

// A simulated job: ranks work, and meet in groups. It produces the digests that a recording would,
// and knows what really happens when a rank works less.
class Job {
 public:
  explicit Job(int ranks) : run_(ranks), now_(static_cast<size_t>(ranks), 0) {
    pieces_.resize(static_cast<size_t>(ranks));
    begins_.resize(static_cast<size_t>(ranks));
  }

  size_t group(const std::vector<int>& members) {
    groups_.push_back(members);
    return run_.group(members);
  }

  void work(int rank, int64_t ns, Category category = Category::kForward,
            HostDetail detail = HostDetail::kNone) {
    pass(rank, ns, category, detail);
  }
  void everybody_works(int64_t ns) {
    for (int r = 0; r < ranks(); ++r) work(r, ns);
  }

  // `bucket`: of DDP.
  struct Sent {
    int64_t bytes = 1000;
    std::optional<int64_t> bucket = {};
  };
  void meet(size_t group, int64_t transfer_ns, LateNote late = {}) {
    meet(group, transfer_ns, late, {});
  }
  void meet(size_t group, int64_t transfer_ns, LateNote late, const Sent& sent) {
    int64_t all = 0;
    for (const int rank : groups_[group]) all = std::max(all, now(rank));
    for (const int rank : groups_[group]) {
      CollectiveRecords::Edited record = run_.call(rank, group, {.bytes = sent.bytes});
      record.bucket = sent.bucket;
      record.enqueue = record.start = TraceNs{now(rank)};
      record.end = TraceNs{all + transfer_ns + (rank == late.rank ? late.ns : 0)};
      pass(rank, all - now(rank), Category::kExposedWait);
      pass(rank, transfer_ns, Category::kExposedTransfer);
    }
  }

  void message(size_t group, int from, int to, int64_t transfer_ns) {
    const int64_t both = std::max(now(from), now(to));
    for (const int rank : {from, to}) {
      const std::vector<int>& members = groups_[group];
      const auto number = std::ranges::find(members, rank == from ? to : from) - members.begin();
      CollectiveRecords::Edited record =
          run_.message(rank, group, rank == from, static_cast<int>(number));
      record.enqueue = record.start = TraceNs{now(rank)};
      record.end = TraceNs{both + transfer_ns};
      pass(rank, both - now(rank), Category::kExposedWait);
      pass(rank, transfer_ns, Category::kExposedTransfer);
    }
  }

  // A wait without a recorded cause.
  void stand_still(int rank, int64_t ns) { pass(rank, ns, Category::kDependency); }

  // By rank: the host whose links its transfers use.
  void on_hosts(std::vector<std::string> hosts) { hosts_ = std::move(hosts); }

  void step_begins() {
    for (int r = 0; r < ranks(); ++r) begins_[static_cast<size_t>(r)].push_back(now(r));
  }

  // Everything from the third step on is steady.
  std::unique_ptr<Replayer> replayer() { return replay().segments; }

  // Each rank's; shares of all kernels' time.
  void with_kernels(std::vector<KernelShare> kernels) { kernels_ = std::move(kernels); }

  // The work is that of GPUs.
  void on_device() {
    for (RankDigest& digest : run_.digests) digest.gpu.devices.emplace_back();
  }
  void with_contention(double factor) {
    contention_.emplace();
    contention_->factor = factor;
  }

  // The same, as a model for questions.
  WhatIfModel model(bool accepted = true) {
    Replay quality;
    quality.accepted = accepted;
    const auto run = std::make_shared<RunReplay>(replay());
    PlayedRun played = played_run_of(run, {.digests = run_.digests,
                                           .traces = {},
                                           .steps = *steps_,
                                           .matching = matching_,
                                           .pieces = pieces_});
    if (!kernels_.empty()) played.kernels.assign(begins_.size(), kernels_);
    return {std::move(played), {.quality = quality, .overlap = {}, .contention = contention_}};
  }

  // Mean length of the steady steps, by the last rank.
  [[nodiscard]] double mean_step() const {
    const auto last_at = [&](size_t s) {
      int64_t last = 0;
      for (const auto& of_rank : begins_) last = std::max(last, of_rank[s]);
      return last;
    };
    const size_t first = steps_->first_steady;
    const size_t end = steps_->last_steady + 1;
    return static_cast<double>(last_at(end) - last_at(first)) / static_cast<double>(end - first);
  }

 private:
  RunReplay replay() {
    step_begins();
    for (size_t r = 0; r < begins_.size(); ++r) {
      RankDigest& digest = run_.digests[r];
      digest.span = {{0}, {now_[r]}};
      for (size_t s = 0; s + 1 < begins_[r].size(); ++s)
        digest.steps.push_back({static_cast<int64_t>(s), {{begins_[r][s]}, {begins_[r][s + 1]}}});
    }
    std::vector<Diagnostic> notes;
    steps_ = align_steps(run_.digests, {}, notes);
    matching_ = matched(run_.digests, true);
    return replay_run(run_.digests, *steps_, matching_, pieces_, {.starved = {}, .hosts = hosts_});
  }

  [[nodiscard]] int ranks() const { return static_cast<int>(now_.size()); }
  [[nodiscard]] int64_t now(int rank) const { return now_[static_cast<size_t>(rank)]; }

  void pass(int rank, int64_t ns, Category category, HostDetail detail = HostDetail::kNone) {
    if (ns <= 0) return;
    const auto r = static_cast<size_t>(rank);
    // What runs beside a transfer is of backward.
    const Category phase = category == Category::kOverlapped ? Category::kBackward : category;
    pieces_[r].push_back({{{now_[r]}, {now_[r] + ns}}, category, phase, detail});
    now_[r] += ns;
  }

  TestRun run_;
  std::vector<std::vector<int>> groups_;
  std::vector<std::string> hosts_;
  std::vector<KernelShare> kernels_;
  std::optional<Contention> contention_;
  std::vector<int64_t> now_;
  std::vector<Lattice> pieces_;
  std::vector<std::vector<int64_t>> begins_;  // of steps, by rank
  std::optional<Steps> steps_;
  Matching matching_;
};

}  // namespace dprof::analyzer
