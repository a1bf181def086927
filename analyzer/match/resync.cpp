// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/resync.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "analyzer/match/order.h"
#include "analyzer/match/tokens.h"

namespace dprof::analyzer {
namespace {

using schema::Function;

constexpr auto kBand = static_cast<int64_t>(kAlignmentBand);
constexpr int64_t kLook = 64;     // calls by which a shift is judged
constexpr int kMostShifts = 16;   // of one rank and counter
constexpr size_t kNextCalls = 5;  // listed in the text

class Resynchroniser {
 public:
  Resynchroniser(GroupCalls& calls, const std::vector<Draft>& drafts,
                 std::span<const RankDigest> digests)
      : calls_(calls), drafts_(drafts), digests_(digests) {}

  Resync run() {
    std::map<std::pair<Function, uint32_t>, int64_t> first;  // by counter and rank
    for (const Draft& draft : drafts_) {
      if (draft.odd.empty()) continue;
      if (!found_.first) note_divergence(draft);
      const Function lane = lane_of(draft);
      for (const uint32_t m : draft.odd) {
        const auto [entry, is_new] =
            first.try_emplace({lane, draft.ranks[m]}, draft.instance.sequence);
        if (!is_new) entry->second = std::min(entry->second, draft.instance.sequence);
      }
    }
    for (const auto& [key, number] : first) {
      learn(key.first);
      follow(key.first, key.second, number);
    }
    return std::move(found_);
  }

 private:
  [[nodiscard]] Function lane_of(const Draft& draft) const {
    return calls_.ranks[draft.ranks[0]].calls[draft.calls[0]].lane;
  }
  [[nodiscard]] CollectiveRecord record_of(uint32_t rank, uint32_t call) const {
    return digests_[calls_.ranks[rank].digest].collectives[calls_.ranks[rank].calls[call].record];
  }

  // The most frequent call under each number of the counter.
  void learn(Function lane) {
    if (learnt_ == lane) return;
    learnt_ = lane;
    usual_.clear();
    for (const Draft& draft : drafts_) {
      if (lane_of(draft) != lane) continue;
      usual_.try_emplace(draft.instance.sequence,
                         record_of(draft.ranks[draft.majority], draft.calls[draft.majority]));
    }
  }

  struct Agreement {
    int64_t agree = 0;
    int64_t differ = 0;
  };

  // Of `kLook` of the rank's calls from `from` on, when shifted.
  [[nodiscard]] Agreement agreement(uint32_t rank, std::span<const uint32_t> order, size_t from,
                                    int64_t shift) const {
    Agreement sum;
    const size_t end = std::min(order.size(), from + static_cast<size_t>(kLook));
    for (size_t i = from; i < end; ++i) {
      const NumberedCall& call = calls_.ranks[rank].calls[order[i]];
      const auto usual = usual_.find(call.number + shift);
      if (usual == usual_.end()) continue;
      ++(in_conflict(usual->second, record_of(rank, order[i])) ? sum.differ : sum.agree);
    }
    return sum;
  }

  void follow(Function lane, uint32_t rank, int64_t number) {
    std::vector<uint32_t> order;  // the rank's calls of this counter, by number
    std::vector<NumberedCall>& calls = calls_.ranks[rank].calls;
    for (uint32_t c = 0; c < calls.size(); ++c) {
      if (calls[c].lane == lane) order.push_back(c);
    }
    std::ranges::stable_sort(order, {}, [&](uint32_t c) { return calls[c].number; });
    size_t at = 0;
    while (at < order.size() && calls[order[at]].number < number) ++at;
    for (int shifts = 0; at < order.size(); ++at) {
      const auto usual = usual_.find(calls[order[at]].number);
      if (usual == usual_.end() || !in_conflict(usual->second, record_of(rank, order[at])))
        continue;
      const int64_t shift = best_shift(rank, order, at);
      if (shift != 0 && shifts++ < kMostShifts) {
        move(rank, order, at, shift);
        continue;
      }
      const Agreement ahead = agreement(rank, order, at, 0);
      constexpr int64_t kEnough = 8;
      if (ahead.differ >= kEnough && ahead.differ > ahead.agree) {
        found_.untrusted.push_back({lane, calls[order[at]].number});
        return;
      }
    }
  }

  // 0 unless another shift is clearly better: one place that differs must not move all later calls.
  [[nodiscard]] int64_t best_shift(uint32_t rank, std::span<const uint32_t> order,
                                   size_t from) const {
    const Agreement unmoved = agreement(rank, order, from, 0);
    int64_t best = 0;
    int64_t most = unmoved.agree + std::max<int64_t>(3, unmoved.differ / 4);
    for (int64_t distance = 1; distance <= kBand; ++distance) {
      for (const int64_t shift : {-distance, distance}) {
        // Extra calls: the rank's own surplus calls are skipped.
        const size_t begin = from + (shift < 0 ? static_cast<size_t>(distance) : 0);
        const Agreement moved = agreement(rank, order, begin, shift);
        if (moved.agree <= most || moved.differ * 8 > moved.agree) continue;
        most = moved.agree;
        best = shift;
      }
    }
    return best;
  }

  void move(uint32_t rank, std::span<const uint32_t> order, size_t from, int64_t shift) {
    RankCalls& of_rank = calls_.ranks[rank];
    for (size_t i = from; i < order.size(); ++i) {
      NumberedCall& call = of_rank.calls[order[i]];
      if (shift < 0 && i < from + static_cast<size_t>(-shift)) {
        call.extra = static_cast<uint32_t>(of_rank.digest) + 1;
      } else {
        call.number += shift;
        ++found_.renumbered;
      }
    }
  }

  // The sides at the first place that differs, each with its next calls in its own order.
  void note_divergence(const Draft& draft) {
    Divergence divergence{.group = draft.instance.group,
                          .sequence = draft.instance.sequence,
                          .tie = draft.tie,
                          .sides = {}};
    std::map<std::vector<std::string>, Divergence::Side> odd;
    Divergence::Side usual{.ranks = {}, .next = next_calls(draft, draft.majority)};
    std::vector<bool> is_odd(draft.ranks.size());
    for (const uint32_t m : draft.odd) is_odd[m] = true;
    for (uint32_t m = 0; m < draft.ranks.size(); ++m) {
      const int rank = digests_[draft.instance.members[m].digest].rank;
      if (!is_odd[m]) {
        usual.ranks.push_back(rank);
        continue;
      }
      std::vector<std::string> next = next_calls(draft, m);
      Divergence::Side& side = odd[next];
      side.next = std::move(next);
      side.ranks.push_back(rank);
    }
    divergence.sides.push_back(std::move(usual));
    for (auto& [next, side] : odd) divergence.sides.push_back(std::move(side));
    std::ranges::stable_sort(divergence.sides, std::ranges::greater(),
                             [](const Divergence::Side& side) { return side.ranks.size(); });
    found_.first = std::move(divergence);
  }

  std::vector<std::string> next_calls(const Draft& draft, uint32_t member) const {
    std::vector<std::string> next;
    const uint32_t rank = draft.ranks[member];
    const size_t calls = calls_.ranks[rank].calls.size();
    for (size_t c = draft.calls[member]; c < calls && next.size() < kNextCalls; ++c)
      next.push_back(words_of(record_of(rank, static_cast<uint32_t>(c))));
    return next;
  }

  GroupCalls& calls_;
  const std::vector<Draft>& drafts_;
  std::span<const RankDigest> digests_;
  Resync found_;
  std::optional<Function> learnt_;
  std::unordered_map<int64_t, CollectiveRecord> usual_;
};

}  // namespace

Resync resynchronise(GroupCalls& calls, const std::vector<Draft>& drafts,
                     std::span<const RankDigest> digests) {
  return Resynchroniser(calls, drafts, digests).run();
}

std::string words_of_ranks(const std::vector<int>& ranks) {
  constexpr size_t kNamed = 8;  // stretches
  std::string words;
  size_t stretches = 0;
  for (size_t i = 0; i < ranks.size(); ++stretches) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (stretches == kNamed) return fmt::format("{} and {} more", words, ranks.size() - i);
    if (!words.empty()) words += ", ";
    words += end - i > 2
                 ? fmt::format("{}-{}", ranks[i], ranks[end - 1])
                 : fmt::format("{}", fmt::join(ranks.begin() + static_cast<long>(i),
                                               ranks.begin() + static_cast<long>(end), ", "));
    i = end;
  }
  return words;
}

std::string words_of(const Divergence& divergence, const std::string& group) {
  std::string words = fmt::format("{}: from #{} on ranks differ", group, divergence.sequence);
  if (divergence.tie) words += ", and no side has a majority";
  for (const Divergence::Side& side : divergence.sides) {
    words += fmt::format("; {} {} call{} {}", side.ranks.size() == 1 ? "rank" : "ranks",
                         words_of_ranks(side.ranks), side.ranks.size() == 1 ? "s" : "",
                         fmt::join(side.next, ", "));
  }
  return words;
}

}  // namespace dprof::analyzer
