// SPDX-License-Identifier: Apache-2.0
#include "analyzer/steps/ngrams.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

namespace dprof::analyzer {
namespace {

// Numbers equal strings equally, from 0: a gram is the number of its front and its last token. Two
// grams are therefore never confused.
class Numbers {
 public:
  explicit Numbers(size_t expected) { known_.reserve(expected); }

  uint32_t of(uint64_t key) {
    return known_.try_emplace(key, static_cast<uint32_t>(known_.size())).first->second;
  }
  [[nodiscard]] size_t size() const { return known_.size(); }

 private:
  std::unordered_map<uint64_t, uint32_t> known_;
};

struct Usual {
  size_t distance = 0;
  double share = 0;
};

Usual usual_distance(std::span<const size_t> at, double tolerance) {
  std::vector<size_t> distances;
  distances.reserve(at.size() - 1);
  for (size_t i = 1; i < at.size(); ++i) distances.push_back(at[i] - at[i - 1]);
  std::ranges::sort(distances);
  const auto n = static_cast<double>(distances.size());
  if (tolerance > 0) {
    const size_t middle = distances[distances.size() / 2];
    const auto within = std::ranges::count_if(distances, [&](size_t d) {
      const auto off = static_cast<double>(std::max(d, middle) - std::min(d, middle));
      return off <= tolerance * static_cast<double>(middle);
    });
    return {middle, static_cast<double>(within) / n};
  }
  Usual best;
  for (auto first = distances.begin(); first != distances.end();) {
    const auto end = std::upper_bound(first, distances.end(), *first);
    const double share = static_cast<double>(end - first) / n;
    if (share > best.share) best = {*first, share};
    first = end;
  }
  return best;
}

std::optional<Usual> voted_distance(std::span<const size_t> at, size_t tokens,
                                    const VotingRule& rule) {
  if (at.size() < rule.fewest) return std::nullopt;
  const Usual usual = usual_distance(at, rule.tolerance);
  if (usual.share < rule.share) return std::nullopt;
  const double needed = rule.coverage * static_cast<double>(tokens);
  const size_t reach = at.back() - at.front() + usual.distance;
  if (static_cast<double>(reach) < needed ||
      static_cast<double>(at.size() * usual.distance) < needed)
    return std::nullopt;
  return usual;
}

void add_voters(std::span<const uint32_t> ids, size_t distinct, size_t length, size_t tokens,
                const VotingRule& rule, std::vector<Gram>& voters) {
  std::vector<size_t> first(distinct + 1, 0);  // counting sort: positions by gram
  for (const uint32_t id : ids) ++first[id + 1];
  for (size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  std::vector<size_t> positions(ids.size());
  std::vector<size_t> next(first.begin(), first.end() - 1);
  for (size_t i = 0; i < ids.size(); ++i) positions[next[ids[i]]++] = i;
  for (size_t id = 0; id < distinct; ++id) {
    const std::span<const size_t> at =
        std::span(positions).subspan(first[id], first[id + 1] - first[id]);
    if (const auto usual = voted_distance(at, tokens, rule))
      voters.push_back({length, usual->distance, usual->share, std::vector(at.begin(), at.end())});
  }
}

// With a tolerance, votes that differ by less than it count as equal; the middle one wins.
Vote winner_of(std::vector<Gram> voters, double tolerance) {
  std::ranges::stable_sort(voters, {}, &Gram::distance);
  size_t best_first = 0;
  size_t best_count = 0;
  for (size_t first = 0, end = 0; first < voters.size(); ++first) {
    const double limit = static_cast<double>(voters[first].distance) * (1 + tolerance);
    while (end < voters.size() && static_cast<double>(voters[end].distance) <= limit) ++end;
    const bool is_new = first == 0 || voters[first].distance != voters[first - 1].distance;
    if (!is_new || end - first < best_count) continue;
    best_first = first;
    best_count = end - first;
  }
  if (best_count == 0) return {};
  Vote vote{.distance = voters[best_first + best_count / 2].distance, .grams = {}};
  for (size_t i = best_first; i < best_first + best_count; ++i)
    vote.grams.push_back(std::move(voters[i]));
  return vote;
}

}  // namespace

std::vector<bool> regular_tokens(std::span<const uint32_t> tokens, size_t kinds,
                                 const VotingRule& rule) {
  std::vector<Gram> voters;
  add_voters(tokens, kinds, 1, tokens.size(), rule, voters);
  std::vector<bool> regular(kinds, false);
  for (const Gram& gram : voters) regular[tokens[gram.at.front()]] = true;
  return regular;
}

Vote vote_on_distance(std::span<const uint32_t> tokens, const VotingRule& rule) {
  std::vector<Gram> voters;
  std::vector<uint32_t> ids(tokens.begin(), tokens.end());
  for (size_t length = 1; length <= kLongestGram && length <= tokens.size(); ++length) {
    Numbers numbers(tokens.size() / 4);
    ids.resize(tokens.size() - length + 1);
    for (size_t i = 0; i < ids.size(); ++i) {
      const uint64_t front = length == 1 ? 0 : uint64_t{ids[i]} + 1;
      ids[i] = numbers.of(front << 32 | tokens[i + length - 1]);
    }
    add_voters(ids, numbers.size(), length, tokens.size(), rule, voters);
  }
  return winner_of(std::move(voters), rule.tolerance);
}

}  // namespace dprof::analyzer
