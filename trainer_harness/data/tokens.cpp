// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <vector>

#include "trainer_harness/data/random.h"
#include "trainer_harness/data/source.h"

namespace dprof::trainer_harness {
namespace {

constexpr int64_t kMaskToken = 1;
constexpr int64_t kFirstWord = 4;   // smaller tokens are special, as in real vocabularies
constexpr int64_t kIgnored = -100;  // cross_entropy's default for "no target here"
constexpr double kMaskedShare = 0.15;
constexpr double kGrammar = 0.9;  // share of words that follow from the previous one
constexpr int64_t kLengthStep = 8;

class TokenSource final : public SampleSource {
 public:
  explicit TokenSource(const TokenSet& set)
      : set_(set), successor_(static_cast<size_t>(set.words)) {
    std::iota(successor_.begin(), successor_.end(), 0);
    Random random(set.seed);
    for (int64_t last = set.words - 1; last > 0; --last) {
      std::swap(successor_[static_cast<size_t>(last)],
                successor_[static_cast<size_t>(random.below(last + 1))]);
    }
  }

  [[nodiscard]] int64_t size() const override { return set_.samples; }

  [[nodiscard]] Batch batch(const BatchRequest& request) const override {
    const auto count = static_cast<int64_t>(request.indices.size());
    const int64_t length = batch_length(request);
    torch::Tensor data = torch::empty({count, length}, torch::kInt64);
    torch::Tensor target = torch::empty({count, length}, torch::kInt64);
    auto* input = data.mutable_data_ptr<int64_t>();
    auto* wanted = target.mutable_data_ptr<int64_t>();
    for (const size_t index : request.indices) {
      Random random(set_.seed, index);
      if (set_.task == TokenTask::kMasked) {
        write_sentence(random, length, input);
        mask(random, length, input, wanted);
      } else {
        std::vector<int64_t> sentence(static_cast<size_t>(length + 1));
        write_sentence(random, length + 1, sentence.data());
        std::copy_n(sentence.begin(), length, input);
        std::copy_n(sentence.begin() + 1, length, wanted);
      }
      input += length;
      wanted += length;
    }
    return {data, target, request.indices};
  }

 private:
  // A batch's sequences are equally long, as if taken from a sorted set, so there is no padding.
  [[nodiscard]] int64_t batch_length(const BatchRequest& request) const {
    Random random(~set_.seed, request.indices.front());
    const int64_t steps = (set_.max_length - set_.min_length) / kLengthStep + 1;
    const int64_t usual = set_.min_length + random.below(steps) * kLengthStep;
    const auto length = static_cast<int64_t>(static_cast<double>(usual) * request.length_factor);
    return std::clamp<int64_t>(length, 1, set_.positions);
  }

  void write_sentence(Random& random, int64_t length, int64_t* token) const {
    int64_t word = random.below(set_.words);
    for (int64_t i = 0; i < length; ++i) {
      *token++ = kFirstWord + word;
      word = random.uniform() < kGrammar ? successor_[static_cast<size_t>(word)]
                                         : random.below(set_.words);
    }
  }

  // Every sentence gets equally many gaps, so the mean over samples equals the mean over gaps.
  static void mask(Random& random, int64_t length, int64_t* input, int64_t* wanted) {
    std::fill_n(wanted, length, kIgnored);
    const auto gaps = std::max<int64_t>(
        1, static_cast<int64_t>(static_cast<double>(length) * kMaskedShare + 0.5));
    for (int64_t made = 0; made < gaps;) {
      const int64_t place = random.below(length);
      if (wanted[place] != kIgnored) continue;
      wanted[place] = std::exchange(input[place], kMaskToken);
      ++made;
    }
  }

  TokenSet set_;
  std::vector<int64_t> successor_;
};

}  // namespace

std::shared_ptr<const SampleSource> make_token_source(const TokenSet& set) {
  return std::make_shared<TokenSource>(set);
}

}  // namespace dprof::trainer_harness
