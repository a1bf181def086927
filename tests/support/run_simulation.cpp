// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "tests/support/run_builder.h"
#include "tests/support/run_shape_internal.h"

namespace dprof::test_support {
namespace {

constexpr int64_t kFirstEventNs = 5'000'000;
constexpr int64_t kRankSkewNs = 200'000;  // ranks start one after the other
constexpr int64_t kDispatchNs = 30'000;   // from the call until Gloo's worker begins
constexpr int64_t kWakeNs = 20'000;  // from the last bucket's end until the training thread goes on
constexpr int64_t kMaxSpreadNs = 5'000;  // ends of one collective are that close to each other
constexpr int64_t kNever = std::numeric_limits<int64_t>::max() / 4;

uint64_t mixed(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Close enough to a standard normal: the sum of twelve uniform values. The same on every machine,
// unlike the standard library's distributions.
double normal_at(uint64_t seed, uint64_t rank, uint64_t step, uint64_t what) {
  uint64_t state = mixed(seed ^ mixed(rank ^ mixed(step ^ mixed(what))));
  double sum = 0;
  for (int i = 0; i < 12; ++i) {
    state = mixed(state);
    sum += static_cast<double>(state >> 11) * 0x1.0p-53;
  }
  return sum - 6;
}

class Simulator {
 public:
  explicit Simulator(const RunSpec& spec)
      : spec_(spec), ranks_(static_cast<size_t>(spec.ranks)), now_(ranks_), worker_free_(ranks_) {
    times_.ranks.resize(ranks_);
  }

  RunTimes run() {
    start_up();
    for (int64_t step = 0; step < spec_.steps; ++step) {
      for (size_t r = 0; r < ranks_; ++r) begin_step(r, step);
      for (int64_t micro = 0; micro < spec_.micro_steps; ++micro) run_micro_step(step, micro);
      for (size_t r = 0; r < ranks_; ++r) end_step(r, step);
      exchange_messages();
      for (size_t r = 0; r < ranks_; ++r) close_step(r);
      if (spec_.kill && spec_.kill->step == step) {
        kill();
        return std::move(times_);
      }
    }
    for (size_t r = 0; r < ranks_; ++r) times_.ranks[r].end_ns = now_[r];
    return std::move(times_);
  }

 private:
  int64_t length_of(int64_t base, size_t rank, int64_t step, Phase phase) const {
    const double noise = spec_.noise * normal_at(spec_.seed, rank, static_cast<uint64_t>(step),
                                                 static_cast<uint64_t>(phase));
    const double factor = std::max(0.1, 1 + noise);
    return static_cast<int64_t>(std::llround(static_cast<double>(base) * factor)) +
           delay_of(spec_, static_cast<int>(rank), step, phase).total_ns();
  }

  void start_up() {
    int64_t arrival = 0;
    for (size_t r = 0; r < ranks_; ++r) {
      CollectiveTimes& c = times_.ranks[r].startup;
      c.enqueue_ns = kFirstEventNs + static_cast<int64_t>(r) * kRankSkewNs;
      c.start_ns = *c.enqueue_ns + kDispatchNs;
      arrival = std::max(arrival, *c.start_ns);
    }
    for (size_t r = 0; r < ranks_; ++r) {
      CollectiveTimes& c = times_.ranks[r].startup;
      c.wait_ns = arrival - *c.start_ns;
      c.end_ns = arrival + kStartupTransferNs;
      worker_free_[r] = *c.end_ns;
      now_[r] = *c.end_ns + kWakeNs;
    }
  }

  Span phase(size_t rank, int64_t base, int64_t step, Phase which) {
    int64_t& now = now_[rank];
    now += spec_.gap_ns;
    const Span span{now, now + length_of(base, rank, step, which)};
    now = span.end;
    return span;
  }

  void begin_step(size_t rank, int64_t step) {
    StepTimes t;
    t.step.begin = now_[rank];
    t.input = phase(rank, spec_.input_ns, step, Phase::kInput);
    times_.ranks[rank].steps.push_back(std::move(t));
  }

  void run_micro_step(int64_t step, int64_t micro) {
    const bool reduces = spec_.sync_each || micro + 1 == spec_.micro_steps;
    for (size_t r = 0; r < ranks_; ++r) begin_micro_step(r, step, micro, reduces);
    if (reduces) {
      for (size_t b = 0; b < spec_.bucket_bytes.size(); ++b) reduce_bucket(b, step);
    }
    for (size_t r = 0; r < ranks_; ++r) end_micro_step(r, reduces);
  }

  // Moves a rank to the end of its own computation in backward and enqueues its buckets.
  void begin_micro_step(size_t rank, int64_t step, int64_t micro, bool reduces) {
    StepTimes& t = times_.ranks[rank].steps.back();
    if (micro > 0) t.earlier.push_back(t);
    t.buckets.clear();
    t.micro_step.begin = now_[rank];
    t.forward = phase(rank, spec_.forward_ns, step, Phase::kForward);
    int64_t now = now_[rank] + spec_.gap_ns;
    t.backward.begin = now;
    const int64_t delay =
        delay_of(spec_, static_cast<int>(rank), step, Phase::kBackward).total_ns();
    const int64_t compute = length_of(spec_.backward_ns, rank, step, Phase::kBackward) - delay;
    const auto buckets = static_cast<int64_t>(spec_.bucket_bytes.size());
    now += delay;
    for (int64_t b = 0; b < buckets; ++b) {
      now += compute / buckets;
      if (!reduces) continue;
      t.buckets.push_back({.enqueue_ns = now, .start_ns = {}, .end_ns = {}});
      now += kEnqueueNs;
    }
    t.backward_compute_end_ns = now;
  }

  void end_micro_step(size_t rank, bool reduces) {
    StepTimes& t = times_.ranks[rank].steps.back();
    int64_t now = t.backward_compute_end_ns;
    if (worker_free_[rank] >= kNever) {
      now_[rank] = kNever;
    } else {
      if (reduces) now = std::max(now, worker_free_[rank] + kWakeNs) + kFinalizeNs;
      now_[rank] = now;
    }
    t.backward.end = t.micro_step.end = now_[rank];
  }

  [[nodiscard]] bool dies(size_t rank, int64_t step) const {
    return spec_.kill && spec_.kill->step == step && static_cast<size_t>(spec_.kill->rank) == rank;
  }

  void reduce_bucket(size_t b, int64_t step) {
    int64_t arrival = 0;
    for (size_t r = 0; r < ranks_; ++r) {
      CollectiveTimes& c = times_.ranks[r].steps.back().buckets[b];
      if (dies(r, step)) {
        c = {};
        arrival = kNever;
        continue;
      }
      const int64_t start = std::max(*c.enqueue_ns + kDispatchNs, worker_free_[r]);
      if (start < kNever) c.start_ns = start;
      arrival = std::max(arrival, start);
    }
    for (size_t r = 0; r < ranks_; ++r) {
      CollectiveTimes& c = times_.ranks[r].steps.back().buckets[b];
      if (arrival >= kNever) {
        worker_free_[r] = kNever;
        continue;
      }
      const auto spread = static_cast<int64_t>(
          mixed(spec_.seed + r * 977 + b * 31 + static_cast<uint64_t>(step) * 7) %
          static_cast<uint64_t>(kMaxSpreadNs));
      c.wait_ns = arrival - *c.start_ns;
      c.end_ns = arrival + spec_.transfer_ns[b] + spread;
      worker_free_[r] = *c.end_ns;
    }
  }

  void end_step(size_t rank, int64_t step) {
    StepTimes& t = times_.ranks[rank].steps.back();
    if (now_[rank] >= kNever) {
      t.optimizer = t.checkpoint = {kNever, kNever};
      return;
    }
    t.optimizer = phase(rank, spec_.optimizer_ns, step, Phase::kOptimizer);
    int64_t now = now_[rank];
    t.checkpoint = {now, now};
    if (const int64_t extra =
            delay_of(spec_, static_cast<int>(rank), step, Phase::kCheckpoint).total_ns();
        extra > 0) {
      now += spec_.gap_ns;
      t.checkpoint = {now, now + extra};
      now += extra;
    }
    now_[rank] = now;
  }

  void exchange_messages() {
    if (std::ranges::any_of(now_, [](int64_t now) { return now >= kNever; })) return;
    for (size_t m = 0; m < spec_.messages.size(); ++m) {
      const MessageSpec& message = spec_.messages[m];
      const auto from = static_cast<size_t>(message.from);
      const auto to = static_cast<size_t>(message.to);
      for (int64_t i = 0; i < message.per_step; ++i) {
        for (const size_t rank : {from, to}) now_[rank] += spec_.gap_ns;
        const int64_t end = std::max(now_[from], now_[to]) + message.transfer_ns;
        times_.ranks[from].steps.back().messages.push_back({m, true, {now_[from], end}});
        times_.ranks[to].steps.back().messages.push_back({m, false, {now_[to], end}});
        now_[from] = now_[to] = end;
      }
    }
  }

  void close_step(size_t rank) {
    if (now_[rank] < kNever) now_[rank] += spec_.gap_ns;
    times_.ranks[rank].steps.back().step.end = now_[rank];
  }

  void kill() {
    const StepTimes& last = times_.ranks[static_cast<size_t>(spec_.kill->rank)].steps.back();
    const int64_t death = (last.backward.begin + last.backward_compute_end_ns) / 2;
    for (RankTimes& rank : times_.ranks) {
      rank.end_ns = death + spec_.kill->others_ns;
      rank.ended = "process_killed";
    }
    times_.ranks[static_cast<size_t>(spec_.kill->rank)].end_ns = death;
  }

  const RunSpec& spec_;
  size_t ranks_;
  std::vector<int64_t> now_;          // of each rank's training thread
  std::vector<int64_t> worker_free_;  // when each rank's Gloo worker has nothing to do
  RunTimes times_;
};

}  // namespace

DelayParts delay_of(const RunSpec& spec, int rank, int64_t step, Phase phase) {
  DelayParts parts;
  for (const Delay& d : spec.delays) {
    const int hit = d.rotating ? static_cast<int>(step % spec.ranks) : d.rank;
    if (hit != rank || d.phase != phase || step < d.first_step || step >= d.end_step) continue;
    if ((step - d.first_step) % d.every != 0) continue;
    (d.form == DelayForm::kOp ? parts.op_ns : parts.host_ns) += d.ns;
  }
  return parts;
}

RunTimes simulate(const RunSpec& spec) { return Simulator(spec).run(); }

}  // namespace dprof::test_support
