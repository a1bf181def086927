// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/cause.h"

#include <algorithm>
#include <array>

#include "base/stats.h"

namespace dprof::analyzer {
namespace {

using schema::Marker;

constexpr double kDominant = 0.6;  // of the delay
constexpr double kUniform = 0.4;   // the rest's relative excess, of the dominant kind's

// A kind of own time. Kinds of one cause together decide; the largest of them gives its name.
struct Kind {
  std::string_view cause;
  std::string_view name;
  Marker phase;
  int64_t (*of)(const Sums&);
};

constexpr std::array<Kind, 8> kKinds = {{
    {"dataloader", "input wait", Marker::kInput,
     [](const Sums& s) { return s.of(Category::kInputWait); }},
    {"compute", "forward", Marker::kForward,
     [](const Sums& s) { return s.compute_of(Category::kForward); }},
    {"compute", "backward", Marker::kBackward,
     [](const Sums& s) { return s.compute_of(Category::kBackward); }},
    {"compute", "optimizer", Marker::kOptimizer,
     [](const Sums& s) { return s.compute_of(Category::kOptimizer); }},
    {"compute", "other computation", Marker::kNone,
     [](const Sums& s) { return s.compute_of(Category::kOtherCompute); }},
    {"checkpoint", "checkpoint", Marker::kCheckpoint,
     [](const Sums& s) { return s.of(HostDetail::kCheckpoint); }},
    {"host", "named host range", Marker::kNone,
     [](const Sums& s) { return s.of(HostDetail::kRange); }},
    {"host", "host time outside of every range", Marker::kNone,
     [](const Sums& s) { return s.of(HostDetail::kUnattributed); }},
}};

size_t slowest_at(const OwnWork& work, size_t step) {
  size_t slowest = 0;
  for (size_t r = 1; r < work.own_ns.size(); ++r) {
    if (work.own_ns[r][step] > work.own_ns[slowest][step]) slowest = r;
  }
  return slowest;
}

int64_t mean(const std::vector<int64_t>& values) {
  int64_t sum = 0;
  for (const int64_t v : values) sum += v;
  return values.empty() ? 0 : sum / static_cast<int64_t>(values.size());
}

struct Difference {
  int64_t own_ns = 0;
  int64_t peers_ns = 0;
  int64_t delta_ns = 0;
};
using Differences = std::array<Difference, kKinds.size()>;

Difference difference_of(const OwnWork& work, std::optional<size_t> rank,
                         const std::vector<size_t>& when, const Kind& kind, Over over) {
  std::vector<int64_t> own;
  std::vector<int64_t> peers;
  std::vector<int64_t> delta;
  for (const size_t step : when) {
    const size_t r = rank ? *rank : slowest_at(work, step);
    std::vector<int64_t> others;
    for (size_t o = 0; o < work.sums.size(); ++o) {
      if (o != r) others.push_back(kind.of(work.sums[o][step]));
    }
    own.push_back(kind.of(work.sums[r][step]));
    peers.push_back(median_ns(std::move(others)));
    delta.push_back(own.back() - peers.back());
  }
  if (over == Over::kAll) return {mean(own), mean(peers), mean(delta)};
  return {median_ns(std::move(own)), median_ns(std::move(peers)), median_ns(std::move(delta))};
}

// The dominant kind is not slower out of proportion to the other computation.
bool is_uniform(const Differences& differences, size_t dominant) {
  if (kKinds[dominant].cause != "compute") return false;
  int64_t rest_ns = 0;
  int64_t rest_delta_ns = 0;
  for (size_t k = 0; k < kKinds.size(); ++k) {
    if (k == dominant || kKinds[k].cause != "compute") continue;
    rest_ns += differences[k].peers_ns;
    rest_delta_ns += differences[k].delta_ns;
  }
  const Difference& top = differences[dominant];
  if (rest_ns <= 0 || top.peers_ns <= 0) return false;
  const double of_rest = static_cast<double>(rest_delta_ns) / static_cast<double>(rest_ns);
  const double of_top = static_cast<double>(top.delta_ns) / static_cast<double>(top.peers_ns);
  return of_rest > kUniform * of_top;
}

}  // namespace

Cause cause_of(const OwnWork& work, std::optional<size_t> rank, const std::vector<size_t>& when,
               Over over) {
  Differences differences;
  std::array<int64_t, kKinds.size()> of_cause{};  // at the cause's first kind
  int64_t total = 0;
  for (size_t k = 0; k < kKinds.size(); ++k) {
    differences[k] = difference_of(work, rank, when, kKinds[k], over);
    const auto first = std::ranges::find(kKinds, kKinds[k].cause, &Kind::cause);
    of_cause[static_cast<size_t>(first - kKinds.begin())] += differences[k].delta_ns;
  }
  for (const int64_t delta : of_cause) total += std::max<int64_t>(0, delta);
  if (total <= 0) return {.word = "unknown", .kind = {}};
  const auto top = static_cast<size_t>(std::ranges::max_element(of_cause) - of_cause.begin());
  if (static_cast<double>(of_cause[top]) < kDominant * static_cast<double>(total))
    return {.word = "mixed", .kind = {}};
  size_t best = top;
  for (size_t k = 0; k < kKinds.size(); ++k) {
    if (kKinds[k].cause == kKinds[top].cause &&
        differences[k].delta_ns > differences[best].delta_ns)
      best = k;
  }
  return {.word = std::string(kKinds[best].cause),
          .kind = std::string(kKinds[best].name),
          .own_ns = differences[best].own_ns,
          .peers_ns = differences[best].peers_ns,
          .phase = kKinds[best].phase,
          .uniform = is_uniform(differences, best)};
}

}  // namespace dprof::analyzer
