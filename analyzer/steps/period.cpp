// SPDX-License-Identifier: Apache-2.0
#include "analyzer/steps/period.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr VotingRule kExact = {};
// For sequences with so many insertions that hardly two distances are equal.
constexpr VotingRule kLoose = {.share = 0.6, .tolerance = 0.25, .coverage = 0.6, .fewest = 10};
constexpr size_t kManyVotes = 8;  // exact ones that need no comparison
constexpr double kAboutAPeriod = 0.25;
constexpr double kUsualCount = 0.05;  // counts of a token that differ by less are the same
constexpr double kInWindows = 0.7;    // share of the steps with the usual count
constexpr double kMostRemoved = 0.5;  // of the tokens: more is not noise
constexpr double kGoodMatch = 0.6;    // of the compared tokens, for a begin that no gram marks
constexpr size_t kCompared = 16;
constexpr int kRounds = 3;  // of removing noise
constexpr size_t kMostShift = 32;
constexpr double kLongPause = 2;     // times the pause before the token with the longest one
constexpr double kSameNumber = 0.8;  // of the stretches between long pauses

// A sequence without the tokens classified as noise.
struct Sequence {
  std::vector<uint32_t> tokens;
  std::vector<TraceNs> times;
  std::vector<size_t> origin;  // positions in the original sequence
};

Vote vote_on(const Sequence& sequence) {
  Vote exact = vote_on_distance(sequence.tokens, kExact);
  if (exact.grams.size() >= kManyVotes) return exact;
  Vote loose = vote_on_distance(sequence.tokens, kLoose);
  return exact.grams.size() >= loose.grams.size() ? exact : loose;
}

// The gram that recurs most regularly; among several the shortest.
const Gram& most_reliable(const Vote& vote) {
  return *std::ranges::min_element(
      vote.grams, {}, [](const Gram& gram) { return std::pair(-gram.share, gram.length); });
}

// Stretches between successive occurrences that are about a period long.
std::vector<std::pair<size_t, size_t>> whole_periods(const Gram& gram, size_t distance) {
  std::vector<std::pair<size_t, size_t>> periods;
  const auto usual = static_cast<double>(distance);
  for (size_t i = 1; i < gram.at.size(); ++i) {
    const auto length = static_cast<double>(gram.at[i] - gram.at[i - 1]);
    if (std::abs(length - usual) <= kAboutAPeriod * usual)
      periods.emplace_back(gram.at[i - 1], gram.at[i]);
  }
  return periods;
}

// Inserted tokens: those that recur neither in the same number per period nor at a regular
// distance.
std::vector<bool> noise_of(const Sequence& sequence, const Vote& vote) {
  const size_t kinds =
      1 + static_cast<size_t>(std::ranges::max(sequence.tokens));  // tokens are dense numbers
  const auto periods = whole_periods(most_reliable(vote), vote.distance);
  std::vector<std::vector<int64_t>> counts(kinds);
  std::vector<int64_t> here(kinds, 0);
  for (const auto& [begin, end] : periods) {
    std::vector<uint32_t> seen;
    for (size_t i = begin; i < end; ++i) {
      if (here[sequence.tokens[i]]++ == 0) seen.push_back(sequence.tokens[i]);
    }
    for (const uint32_t token : seen) counts[token].push_back(std::exchange(here[token], 0));
  }
  std::vector<bool> noise(kinds, false);
  const std::vector<bool> regular = regular_tokens(sequence.tokens, kinds, kLoose);
  for (size_t token = 0; token < kinds; ++token) {
    if (regular[token]) continue;
    std::vector<int64_t>& count = counts[token];
    count.resize(periods.size(), 0);
    const auto usual = static_cast<double>(median_ns(count));
    const auto same = std::ranges::count_if(count, [&](int64_t c) {
      return std::abs(static_cast<double>(c) - usual) <= kUsualCount * usual;
    });
    noise[token] =
        usual == 0 || static_cast<double>(same) < kInWindows * static_cast<double>(periods.size());
  }
  return noise;
}

Sequence without(const Sequence& sequence, const std::vector<bool>& noise) {
  Sequence rest;
  for (size_t i = 0; i < sequence.tokens.size(); ++i) {
    if (noise[sequence.tokens[i]]) continue;
    rest.tokens.push_back(sequence.tokens[i]);
    rest.times.push_back(sequence.times[i]);
    rest.origin.push_back(sequence.origin[i]);
  }
  return rest;
}

int64_t pause_before(const Sequence& sequence, size_t i) {
  return i == 0 ? 0 : (sequence.times[i] - sequence.times[i - 1]).ns;
}

// The offset within a period, counted from `gram`, of the token with the longest pause before it.
size_t phase_of_pause(const Sequence& sequence, const Gram& gram, size_t distance) {
  std::vector<std::vector<int64_t>> pauses(distance);
  for (const size_t begin : gram.at) {
    for (size_t k = 0; k < distance && begin + k < sequence.tokens.size(); ++k)
      pauses[k].push_back(pause_before(sequence, begin + k));
  }
  size_t best = 0;
  int64_t longest = -1;
  for (size_t k = 0; k < distance; ++k) {
    const int64_t pause = median_ns(std::move(pauses[k]));
    if (pause > longest) {
      longest = pause;
      best = k;
    }
  }
  return best;
}

// The usual number of tokens from an occurrence of `from` to the next one of `to`.
size_t offset_of(const Gram& from, const Gram& to) {
  std::vector<int64_t> offsets;
  for (const size_t begin : from.at) {
    const auto next = std::ranges::lower_bound(to.at, begin);
    if (next != to.at.end()) offsets.push_back(static_cast<int64_t>(*next - begin));
  }
  return static_cast<size_t>(median_ns(std::move(offsets)));
}

// A recurring gram, and the offset of a step's begin from its first token.
struct Anchor {
  const Gram* gram = nullptr;
  int64_t shift = 0;
};

// The voting gram nearest to the longest pause, preferably around or right after it; among several
// the most regular, then the shortest.
Anchor anchor_of(const Sequence& sequence, const Vote& vote) {
  const Gram& reference = most_reliable(vote);
  const size_t phase = phase_of_pause(sequence, reference, vote.distance);
  const auto period = static_cast<int64_t>(vote.distance);
  const auto shift_of = [&](const Gram& gram) {
    const auto offset = static_cast<int64_t>(offset_of(reference, gram) % vote.distance);
    const int64_t shift = (static_cast<int64_t>(phase) - offset + period) % period;
    const bool around = shift <= static_cast<int64_t>(gram.length);
    return around || 2 * shift <= period ? shift : shift - period;
  };
  const Gram& nearest = *std::ranges::min_element(vote.grams, {}, [&](const Gram& gram) {
    const int64_t shift = shift_of(gram);
    const bool around = shift >= 0 && shift <= static_cast<int64_t>(gram.length);
    return std::tuple(around ? 0 : std::abs(shift), -gram.share, gram.length);
  });
  return {&nearest, shift_of(nearest)};
}

// Where the tokens from `near` on look most like those after `example`; nullopt = nowhere.
std::optional<size_t> most_alike(const Sequence& sequence, size_t example, size_t near,
                                 size_t shift) {
  const size_t compared = std::min(kCompared, sequence.tokens.size() - example);
  std::optional<size_t> best;
  size_t best_same = 0;
  size_t best_off = 0;
  for (size_t at = near - std::min(near, shift); at <= near + shift; ++at) {
    if (at + compared > sequence.tokens.size()) break;
    size_t same = 0;
    for (size_t k = 0; k < compared; ++k)
      same += sequence.tokens[at + k] == sequence.tokens[example + k] ? 1 : 0;
    const size_t off = std::max(at, near) - std::min(at, near);
    if (same < best_same || (same == best_same && off >= best_off)) continue;
    best_same = same;
    best_off = off;
    best = at;
  }
  if (static_cast<double>(best_same) < kGoodMatch * static_cast<double>(compared)) return {};
  return best;
}

// Adds begins before the first and after the last one, as long as the following tokens look the
// same. The last step can be incomplete.
void extend(const Sequence& sequence, size_t period, std::vector<size_t>& begins) {
  const size_t shift = std::min(kMostShift, period / 2);
  while (!begins.empty() && begins.front() + shift >= period) {
    const size_t guess = begins.front() - std::min(begins.front(), period);
    const auto found = most_alike(sequence, begins.front(), guess, shift);
    if (!found || *found >= begins.front()) break;
    begins.insert(begins.begin(), *found);
  }
  while (!begins.empty() && begins.back() + period < sequence.tokens.size()) {
    const auto found = most_alike(sequence, begins.back(), begins.back() + period, shift);
    if (!found || *found <= begins.back()) break;
    begins.push_back(*found);
  }
}

// If an insertion breaks a step's anchor, two begins are two periods apart: the begin between them
// is found by the tokens after it.
std::vector<size_t> begins_of(const Sequence& sequence, const Anchor& anchor) {
  std::vector<size_t> begins;
  const size_t period = anchor.gram->distance;
  const size_t most_shift = std::min(kMostShift, period / 2);
  for (const size_t occurrence : anchor.gram->at) {
    const int64_t shifted = static_cast<int64_t>(occurrence) + anchor.shift;
    if (shifted < 0 || shifted >= static_cast<int64_t>(sequence.tokens.size())) continue;
    const auto at = static_cast<size_t>(shifted);
    if (begins.empty()) {
      begins.push_back(at);
      continue;
    }
    const size_t last = begins.back();
    if (2 * (at - last) < period) continue;  // the same step once more
    const size_t periods = (at - last + period / 2) / period;
    for (size_t k = 1; k < periods; ++k) {
      const size_t guess = begins.back() + (at - begins.back()) / (periods - k + 1);
      if (const auto found = most_alike(sequence, last, guess, most_shift);
          found && *found > begins.back() && *found < at)
        begins.push_back(*found);
    }
    begins.push_back(at);
  }
  extend(sequence, period, begins);
  return begins;
}

// All tokens are alike: only pauses show where a step begins, and only if there are two kinds of
// pauses with equally many tokens between the long ones.
std::optional<Period> by_pauses(const Sequence& sequence) {
  std::vector<int64_t> pauses;
  for (size_t i = 1; i < sequence.times.size(); ++i) pauses.push_back(pause_before(sequence, i));
  std::vector<int64_t> sorted = pauses;
  std::ranges::sort(sorted);
  const size_t n = sorted.size();
  double widest = 0;
  int64_t limit = 0;
  for (size_t i = n / 2; i + kFewestOccurrences < n; ++i) {
    const double ratio =
        static_cast<double>(sorted[i + 1]) / static_cast<double>(std::max<int64_t>(1, sorted[i]));
    if (ratio > widest) {
      widest = ratio;
      limit = sorted[i + 1];
    }
  }
  if (widest < kLongPause) return std::nullopt;
  Period period;
  for (size_t i = 0; i < pauses.size(); ++i) {
    if (pauses[i] >= limit) period.begins.push_back(i + 1);
  }
  std::vector<int64_t> between;
  for (size_t i = 1; i < period.begins.size(); ++i)
    between.push_back(static_cast<int64_t>(period.begins[i] - period.begins[i - 1]));
  if (between.empty()) return std::nullopt;
  const int64_t usual = median_ns(between);
  if (static_cast<double>(std::ranges::count(between, usual)) <
      kSameNumber * static_cast<double>(between.size()))
    return std::nullopt;
  period.tokens = static_cast<size_t>(usual);
  extend(sequence, period.tokens, period.begins);
  return period;
}

Period period_of(const Sequence& sequence, const Vote& vote) {
  if (vote.distance == 1) {
    if (auto period = by_pauses(sequence)) return *std::move(period);
  }
  return {vote.distance, begins_of(sequence, anchor_of(sequence, vote))};
}

}  // namespace

std::optional<Period> find_period(std::span<const uint32_t> tokens,
                                  std::span<const TraceNs> times) {
  if (tokens.size() < kFewestOccurrences) return std::nullopt;
  Sequence sequence{{tokens.begin(), tokens.end()}, {times.begin(), times.end()}, {}};
  sequence.origin.resize(tokens.size());
  std::iota(sequence.origin.begin(), sequence.origin.end(), size_t{0});
  Vote vote = vote_on(sequence);
  if (vote.distance == 0) return std::nullopt;
  for (int round = 0; round < kRounds; ++round) {
    Sequence rest = without(sequence, noise_of(sequence, vote));
    const bool cleaner = rest.tokens.size() < sequence.tokens.size() &&
                         static_cast<double>(rest.tokens.size()) >=
                             (1 - kMostRemoved) * static_cast<double>(tokens.size());
    if (!cleaner) break;
    Vote again = vote_on(rest);
    if (again.distance == 0) break;
    sequence = std::move(rest);
    vote = std::move(again);
  }
  Period period = period_of(sequence, vote);
  if (period.begins.size() < kFewestOccurrences) return std::nullopt;
  for (size_t& begin : period.begins) begin = sequence.origin[begin];
  return period;
}

bool is_steady(std::span<const TraceNs> begins) {
  constexpr size_t kDropped = 3;
  constexpr double kMostVariation = 0.5;
  std::vector<double> lengths;
  for (size_t i = 1 + std::min(kDropped, begins.size()); i < begins.size(); ++i)
    lengths.push_back(static_cast<double>((begins[i] - begins[i - 1]).ns));
  if (lengths.size() < 2) return false;
  const double centre = median(lengths);
  const double limit = 3 * mad_n(lengths);
  if (limit > 0) std::erase_if(lengths, [&](double x) { return std::abs(x - centre) > limit; });
  const double n = static_cast<double>(lengths.size());
  const double mean = std::accumulate(lengths.begin(), lengths.end(), 0.0) / n;
  double squares = 0;
  for (const double x : lengths) squares += (x - mean) * (x - mean);
  return mean > 0 && std::sqrt(squares / n) / mean < kMostVariation;
}

}  // namespace dprof::analyzer
