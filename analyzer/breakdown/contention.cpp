// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "analyzer/breakdown/communication.h"
#include "analyzer/breakdown/exposure.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

// A transfer counts as overlapped with at least this share of computation beside it, and as alone
// with at most kMostlyAlone.
constexpr double kMostlyBeside = 0.8;
constexpr double kMostlyAlone = 0.1;
constexpr size_t kFewestTransfers = 10;  // on each side
constexpr size_t kMostRanks = 64;        // ranks examined for computation beside their transfers

struct Factor {
  double value;
  double weight;
};

double weighted_median(std::vector<Factor> factors) {
  std::ranges::sort(factors, {}, &Factor::value);
  const double half = std::accumulate(factors.begin(), factors.end(), 0.0,
                                      [](double sum, const Factor& f) { return sum + f.weight; }) /
                      2;
  double passed = 0;
  for (const Factor& factor : factors) {
    passed += factor.weight;
    if (passed >= half) return factor.value;
  }
  return factors.back().value;
}

// Communication hidden by computation, per steady step, mean over ranks.
double overlapped_per_step(const CommunicationInput& input) {
  double total = 0;
  for (size_t r = 0; r < input.steps.ranks.size(); ++r) {
    const RankTime time(input.pieces[input.steps.ranks[r]]);
    for (const AlignedStep& step : input.steps.steady())
      total += static_cast<double>(time.overlapped(step.windows[r]));
  }
  return total / static_cast<double>(input.steps.ranks.size() * input.steps.steady().size());
}

// Transfers of a kind take equally long, unless something slows them.
struct TransferKind {
  size_t group;
  schema::Function function;
  std::optional<int64_t> bytes;
  auto operator<=>(const TransferKind&) const = default;
};

// The share of each instance's transfer with computation beside it, mean over the examined ranks.
class TransferSides {
 public:
  explicit TransferSides(const CommunicationInput& input)
      : input_(input),
        shares_(input.matching.instances.size(), 0),
        seen_(input.matching.instances.size(), 0) {
    const std::vector<size_t>& ranks = input.steps.ranks;
    const size_t every = (ranks.size() + kMostRanks - 1) / kMostRanks;
    for (size_t r = 0; r < ranks.size(); r += every) add_rank(r);
  }

  // The factors of the kinds seen on both sides.
  [[nodiscard]] std::vector<Factor> factors() const {
    struct Sides {
      std::vector<int64_t> alone, beside;
    };
    std::map<TransferKind, Sides> kinds;
    for (size_t i = 0; i < shares_.size(); ++i) {
      if (seen_[i] == 0) continue;
      const Instance& instance = input_.matching.instances[i];
      const double share = shares_[i] / seen_[i];
      if (share > kMostlyAlone && share < kMostlyBeside) continue;
      Sides& sides = kinds[{instance.group, instance.function, instance.bytes}];
      (share >= kMostlyBeside ? sides.beside : sides.alone).push_back(instance.transfer_ns);
    }
    std::vector<Factor> factors;
    for (const auto& [kind, sides] : kinds) {
      if (std::min(sides.alone.size(), sides.beside.size()) < kFewestTransfers) continue;
      const auto alone = static_cast<double>(median_ns(sides.alone));
      const auto beside = static_cast<double>(median_ns(sides.beside));
      if (alone <= 0) continue;
      factors.push_back({beside / alone, beside * static_cast<double>(sides.beside.size())});
    }
    return factors;
  }

 private:
  void add_rank(size_t r) {
    const size_t digest = input_.steps.ranks[r];
    const std::span<const AlignedStep> steady = input_.steps.steady();
    const Interval window{steady.front().windows[r].begin, steady.back().windows[r].end};
    const RankTime time(input_.pieces[digest]);
    for (const CommSpan& part : comm_spans(input_.digests, input_.matching, digest)) {
      const size_t i = input_.matching.instance_of[digest][part.record];
      if (i == kNoInstance) continue;
      const Instance& instance = input_.matching.instances[i];
      if (!instance.comparable || instance.guessed || instance.transfer_ns <= 0) continue;
      const Interval transfer{std::max(part.arrive, part.span.begin), part.span.end};
      if (transfer.empty() || transfer.begin < window.begin || transfer.end > window.end) continue;
      shares_[i] += static_cast<double>(time.exposure(transfer, 0).hidden_ns) /
                    static_cast<double>(transfer.length().ns);
      ++seen_[i];
    }
  }

  const CommunicationInput& input_;
  std::vector<double> shares_;  // sums over ranks, by instance
  std::vector<int> seen_;       // number of ranks
};

void add_transfers(const CommunicationInput& input, Contention& contention) {
  std::vector<Factor> factors = TransferSides(input).factors();
  contention.transfer_kinds = static_cast<int64_t>(factors.size());
  if (!factors.empty()) contention.transfer_factor = weighted_median(std::move(factors));
}

}  // namespace

std::optional<Contention> contention_of(const CommunicationInput& input,
                                        std::vector<Diagnostic>& diagnostics) {
  std::vector<Factor> factors;
  std::vector<double> values;
  std::set<std::string_view> names;
  bool any_collective = false;
  bool any_kernel = false;
  for (const size_t rank : input.steps.ranks) {
    const RankDigest& digest = input.digests[rank];
    any_collective = any_collective || !digest.collectives.empty();
    any_kernel = any_kernel || !digest.gpu.empty();
    for (const OpTimes& times : digest.gpu.empty() ? digest.op_times : digest.gpu.kernel_times) {
      const double alone = times.alone.quantile(0.5);
      if (alone <= 0) continue;
      values.push_back(times.beside.quantile(0.5) / alone);
      factors.push_back({values.back(), static_cast<double>(times.beside_ns)});
      names.insert(times.name);
    }
  }
  if (factors.empty()) {
    if (any_collective) {
      diagnostics.push_back(make_diagnostic(
          "not_computed",
          fmt::format("contention: no {} ran {} times both with a collective and alone",
                      any_kernel ? "kernel" : "operator", OpTimesGatherer::kFewest)));
    }
    return std::nullopt;
  }
  Contention contention{.factor = weighted_median(std::move(factors)),
                        .operators = static_cast<int64_t>(names.size()),
                        .spread = mad_n(values),
                        .of_kernels = any_kernel,
                        .transfer_factor = {}};
  if (contention.factor > 1) {
    contention.hidden_cost_ns =
        static_cast<int64_t>(overlapped_per_step(input) * (1 - 1 / contention.factor));
  }
  add_transfers(input, contention);
  return contention;
}

}  // namespace dprof::analyzer
