// SPDX-License-Identifier: Apache-2.0
#include <random>
#include <vector>

#include "trainer_harness/data/random.h"
#include "trainer_harness/data/source.h"

namespace dprof::trainer_harness {
namespace {

constexpr int64_t kSide = 28;
constexpr int64_t kClasses = 10;
constexpr int64_t kShifts = 5;    // by -2 .. 2 pixels, each way
constexpr float kPaper = -0.42F;  // as in MNIST normalised to mean 0 and deviation 1
constexpr float kInk = 2.8F;
constexpr float kDigitNoise = 0.3F;

class DigitSource final : public SampleSource {
 public:
  DigitSource(int64_t size, uint64_t seed) : size_(size), seed_(seed) {
    std::mt19937_64 random(seed);
    for (float& value : noise_) value = kDigitNoise * normal(random);
    for (int64_t label = 0; label < kClasses; ++label) draw_pattern(label, random);
  }

  [[nodiscard]] int64_t size() const override { return size_; }

  [[nodiscard]] Batch batch(const BatchRequest& request) const override {
    const auto count = static_cast<int64_t>(request.indices.size());
    torch::Tensor images = torch::empty({count, 1, kSide, kSide});
    torch::Tensor labels = torch::empty({count}, torch::kInt64);
    float* pixel = images.mutable_data_ptr<float>();
    int64_t* label = labels.mutable_data_ptr<int64_t>();
    for (const size_t index : request.indices) {
      *label++ = draw_sample(index, pixel);
      pixel += kSide * kSide;
    }
    return {images, labels, request.indices};
  }

 private:
  static constexpr size_t kPixels = kSide * kSide;
  static constexpr size_t kNoise = 1 << 16;

  // A sum of uniform numbers, since std::normal_distribution differs between libraries.
  static float normal(std::mt19937_64& random) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(random() >> 11) * 0x1p-53;
    return static_cast<float>(sum);
  }

  // Three bright bars, each of 4x14 or 14x4 pixels, at random places.
  void draw_pattern(int64_t label, std::mt19937_64& random) {
    float* pattern = &patterns_[static_cast<size_t>(label) * kPixels];
    for (int bar = 0; bar < 3; ++bar) {
      const bool upright = random() % 2 == 0;
      const size_t width = upright ? 4 : 14;
      const size_t height = upright ? 14 : 4;
      const size_t left = random() % (kSide - width);
      const size_t top = random() % (kSide - height);
      for (size_t y = top; y < top + height; ++y) {
        for (size_t x = left; x < left + width; ++x) pattern[y * kSide + x] = kInk;
      }
    }
  }

  int64_t draw_sample(size_t index, float* pixel) const {
    const uint64_t bits = mix(seed_ * 0x100000001b3 + index);
    const auto label = static_cast<int64_t>(bits % kClasses);
    const int64_t right = static_cast<int64_t>((bits >> 8) % kShifts) - kShifts / 2;
    const int64_t down = static_cast<int64_t>((bits >> 16) % kShifts) - kShifts / 2;
    const float* noise = &noise_[(bits >> 24) % (kNoise - kPixels)];
    const float* pattern = &patterns_[static_cast<size_t>(label) * kPixels];
    for (int64_t y = 0; y < kSide; ++y) {
      for (int64_t x = 0; x < kSide; ++x) {
        const int64_t from_x = x - right;
        const int64_t from_y = y - down;
        const bool inside = from_x >= 0 && from_x < kSide && from_y >= 0 && from_y < kSide;
        *pixel++ = *noise++ + (inside ? pattern[from_y * kSide + from_x] : kPaper);
      }
    }
    return label;
  }

  int64_t size_;
  uint64_t seed_;
  std::vector<float> patterns_ = std::vector<float>(kClasses * kPixels, kPaper);
  std::vector<float> noise_ = std::vector<float>(kNoise);
};

class CoinSource final : public SampleSource {
 public:
  explicit CoinSource(int64_t size) : size_(size) {}

  [[nodiscard]] int64_t size() const override { return size_; }

  [[nodiscard]] Batch batch(const BatchRequest& request) const override {
    const auto count = static_cast<int64_t>(request.indices.size());
    return {torch::randn({count, 3}), torch::randint(0, 2, {count, 1}, torch::kFloat32),
            request.indices};
  }

 private:
  int64_t size_;
};

}  // namespace

uint64_t index_hash(const Batch& batch) {
  uint64_t sum = 0;
  for (const size_t index : batch.indices) sum += mix(index);
  return sum;
}

std::shared_ptr<const SampleSource> make_digit_source(int64_t size, uint64_t seed) {
  return std::make_shared<DigitSource>(size, seed);
}

std::shared_ptr<const SampleSource> make_coin_source(int64_t size) {
  return std::make_shared<CoinSource>(size);
}

}  // namespace dprof::trainer_harness
