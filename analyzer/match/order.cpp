// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/order.h"

#include <algorithm>
#include <map>

#include "analyzer/match/tokens.h"

namespace dprof::analyzer {
namespace {

// Fills the rows of lengths in turn; only the band is kept. If both ways are equally long, the
// diagonal wins: equal positions belong together.
class BandedAlignment {
 public:
  BandedAlignment(std::span<const uint64_t> a, std::span<const uint64_t> b) : a_(a), b_(b) {}

  std::vector<std::pair<size_t, size_t>> run() {
    fill();
    return trace_back();
  }

 private:
  static constexpr size_t kWidth = 2 * kAlignmentBand + 1;

  // Length of the common subsequence of a's first i and b's first j; 0 outside of the band.
  uint32_t& at(size_t i, size_t j) { return lengths_[i * kWidth + (j + kAlignmentBand - i)]; }
  [[nodiscard]] bool in_band(size_t i, size_t j) const {
    return j + kAlignmentBand >= i && j <= i + kAlignmentBand && j <= b_.size();
  }
  uint32_t length(size_t i, size_t j) { return in_band(i, j) ? at(i, j) : 0; }

  void fill() {
    lengths_.assign((a_.size() + 1) * kWidth, 0);
    for (size_t i = 1; i <= a_.size(); ++i) {
      const size_t first = i > kAlignmentBand ? i - kAlignmentBand : 1;
      const size_t last = std::min(b_.size(), i + kAlignmentBand);
      for (size_t j = std::max<size_t>(1, first); j <= last; ++j) {
        const uint32_t skip = std::max(length(i - 1, j), length(i, j - 1));
        at(i, j) = a_[i - 1] == b_[j - 1] ? std::max(skip, length(i - 1, j - 1) + 1) : skip;
      }
    }
  }

  std::vector<std::pair<size_t, size_t>> trace_back() {
    std::vector<std::pair<size_t, size_t>> pairs;
    size_t i = a_.size();
    size_t j = b_.size();
    while (i > 0 && j > 0) {
      if (!in_band(i, j)) {
        j > i ? --j : --i;
        continue;
      }
      if (a_[i - 1] == b_[j - 1] && at(i, j) == length(i - 1, j - 1) + 1) {
        pairs.emplace_back(--i, --j);
      } else if (in_band(i - 1, j) && at(i, j) == length(i - 1, j)) {
        --i;
      } else {
        --j;
      }
    }
    std::ranges::reverse(pairs);
    return pairs;
  }

  std::span<const uint64_t> a_;
  std::span<const uint64_t> b_;
  std::vector<uint32_t> lengths_;
};

// Calls of one rank within one segment of its time.
struct OrderPiece {
  RankCalls* rank = nullptr;
  std::vector<size_t> calls;  // positions in rank->calls
  std::vector<uint64_t> tokens;
};

// A place between two calls of the reference where other ranks have an extra call.
using Inserted = std::map<std::pair<uint64_t, size_t>, std::vector<std::pair<RankCalls*, size_t>>>;

class SegmentAligner {
 public:
  SegmentAligner(std::vector<OrderPiece>& pieces, int64_t& next) : pieces_(pieces), next_(next) {}

  void run() {
    reference_ = &*std::ranges::max_element(
        pieces_, {}, [](const OrderPiece& piece) { return piece.calls.size(); });
    numbers_.resize(reference_->calls.size());
    inserted_.resize(reference_->calls.size() + 1);
    paired_.resize(reference_->calls.size());
    for (OrderPiece& piece : pieces_) align(piece);
    for (size_t p = 0; p <= reference_->calls.size(); ++p) {
      for (const auto& [what, calls] : inserted_[p]) {
        for (const auto& [rank, call] : calls) rank->calls[call].number = next_;
        ++next_;
      }
      if (p == reference_->calls.size()) break;
      for (const auto& [rank, call] : paired_[p]) rank->calls[call].number = next_;
      ++next_;
    }
  }

 private:
  void align(OrderPiece& piece) {
    size_t from = 0;
    size_t reference_from = 0;
    const auto take_gap = [&](size_t reference_to, size_t to) {
      const bool as_many = reference_to - reference_from == to - from;
      std::map<uint64_t, size_t> of_kind;
      for (; from < to; ++from) {
        if (as_many) {
          paired_[reference_from++].emplace_back(piece.rank, piece.calls[from]);
        } else {
          const uint64_t token = piece.tokens[from];
          inserted_[reference_to][{token, of_kind[token]++}].emplace_back(piece.rank,
                                                                          piece.calls[from]);
        }
      }
      reference_from = reference_to;
    };
    for (const auto& [r, p] : aligned_positions(reference_->tokens, piece.tokens)) {
      take_gap(r, p);
      paired_[r].emplace_back(piece.rank, piece.calls[p]);
      reference_from = r + 1;
      from = p + 1;
    }
    take_gap(reference_->calls.size(), piece.calls.size());
  }

  std::vector<OrderPiece>& pieces_;
  int64_t& next_;
  OrderPiece* reference_ = nullptr;
  std::vector<int64_t> numbers_;
  std::vector<Inserted> inserted_;
  std::vector<std::vector<std::pair<RankCalls*, size_t>>> paired_;
};

// 2 i + 1 within step i, 2 i + 2 after it, INT64_MIN before all steps.
int64_t segment_at(const RankDigest& digest, TraceNs time) {
  const auto next = std::ranges::upper_bound(digest.steps, time, {},
                                             [](const StepRecord& s) { return s.window.begin; });
  if (next == digest.steps.begin()) return INT64_MIN;
  const StepRecord& step = *std::prev(next);
  return 2 * step.index + (time < step.window.end ? 1 : 2);
}

// Blocks limit the memory; the last quarter of one is aligned again in the next.
void align_in_blocks(std::span<const uint64_t> a, std::span<const uint64_t> b, size_t offset,
                     std::vector<std::pair<size_t, size_t>>& pairs) {
  constexpr size_t kBlock = 4096;
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() && j < b.size()) {
    const auto block_a = a.subspan(i, std::min(kBlock, a.size() - i));
    const auto block_b = b.subspan(j, std::min(kBlock, b.size() - j));
    const bool is_last = i + block_a.size() == a.size() && j + block_b.size() == b.size();
    const size_t accepted = is_last ? kBlock : kBlock * 3 / 4;
    size_t next_i = i + accepted;  // where nothing agrees
    size_t next_j = j + accepted;
    for (const auto& [x, y] : BandedAlignment(block_a, block_b).run()) {
      if (x >= accepted) break;
      pairs.emplace_back(offset + i + x, offset + j + y);
      next_i = i + x + 1;
      next_j = j + y + 1;
    }
    if (is_last) return;
    i = next_i;
    j = next_j;
  }
}

}  // namespace

std::vector<std::pair<size_t, size_t>> aligned_positions(std::span<const uint64_t> a,
                                                         std::span<const uint64_t> b) {
  size_t head = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head]) ++head;
  size_t tail = 0;
  while (head + tail < a.size() && head + tail < b.size() &&
         a[a.size() - 1 - tail] == b[b.size() - 1 - tail])
    ++tail;
  std::vector<std::pair<size_t, size_t>> pairs;
  pairs.reserve(std::min(a.size(), b.size()));
  for (size_t i = 0; i < head; ++i) pairs.emplace_back(i, i);
  const auto middle_a = a.subspan(head, a.size() - head - tail);
  const auto middle_b = b.subspan(head, b.size() - head - tail);
  align_in_blocks(middle_a, middle_b, head, pairs);
  for (size_t i = tail; i > 0; --i) pairs.emplace_back(a.size() - i, b.size() - i);
  return pairs;
}

void number_by_order(GroupCalls& group, std::span<const RankDigest> digests) {
  const bool in_steps = std::ranges::all_of(
      group.ranks, [&](const RankCalls& rank) { return !digests[rank.digest].steps.empty(); });
  std::map<int64_t, std::vector<OrderPiece>> segments;
  for (RankCalls& rank : group.ranks) {
    const RankDigest& digest = digests[rank.digest];
    int64_t segment = INT64_MIN;
    for (size_t c = 0; c < rank.calls.size(); ++c) {
      const CollectiveRecord& record = digest.collectives[rank.calls[c].record];
      if (in_steps && record.arrival()) segment = segment_at(digest, *record.arrival());
      std::vector<OrderPiece>& pieces = segments[segment];
      if (pieces.empty() || pieces.back().rank != &rank) pieces.push_back({.rank = &rank});
      pieces.back().calls.push_back(c);
      // Captured calls run when their graph is launched: they are matched separately.
      pieces.back().tokens.push_back(token_of(record) ^ (record.captured ? 1U : 0U));
    }
  }
  int64_t next = 0;
  for (auto& [segment, pieces] : segments) SegmentAligner(pieces, next).run();
}

}  // namespace dprof::analyzer
