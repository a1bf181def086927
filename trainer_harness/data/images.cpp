// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "trainer_harness/data/random.h"
#include "trainer_harness/data/source.h"

namespace dprof::trainer_harness {
namespace {

constexpr int64_t kChannels = 3;
constexpr int64_t kTiles =
    kMinImageSide;  // a class's pattern has this many coloured squares in each direction
constexpr float kImageNoise = 0.3F;
constexpr size_t kNoise = 1 << 16;

class ImageSource final : public SampleSource {
 public:
  explicit ImageSource(const ImageSet& set)
      : set_(set),
        patterns_(static_cast<size_t>(set.classes * kChannels * kTiles * kTiles)),
        noise_(kNoise) {
    Random random(set.seed);
    for (float& value : patterns_) value = random.normal();
    for (float& value : noise_) value = kImageNoise * random.normal();
  }

  [[nodiscard]] int64_t size() const override { return set_.samples; }

  [[nodiscard]] Batch batch(const BatchRequest& request) const override {
    const auto count = static_cast<int64_t>(request.indices.size());
    torch::Tensor images = torch::empty({count, kChannels, set_.side, set_.side});
    torch::Tensor labels = torch::empty({count}, torch::kInt64);
    float* pixel = images.mutable_data_ptr<float>();
    int64_t* label = labels.mutable_data_ptr<int64_t>();
    for (const size_t index : request.indices) {
      Random random(set_.seed, index);
      *label = random.below(set_.classes);
      draw(*label++, random, pixel);
      pixel += kChannels * set_.side * set_.side;
    }
    return {images, labels, request.indices};
  }

 private:
  // The class's pattern, cyclically shifted by less than a square, with noise added.
  void draw(int64_t label, Random& random, float* pixel) const {
    const int64_t side = set_.side;
    const int64_t right = random.below(side / kTiles);
    const int64_t down = random.below(side / kTiles);
    for (int64_t channel = 0; channel < kChannels; ++channel) {
      const float* pattern =
          &patterns_[static_cast<size_t>((label * kChannels + channel) * kTiles * kTiles)];
      for (int64_t y = 0; y < side; ++y) {
        const float* row = pattern + (y + down) % side * kTiles / side * kTiles;
        const auto noise_begin =
            static_cast<size_t>(random.below(static_cast<int64_t>(kNoise) - side));
        const float* noise = &noise_[noise_begin];
        for (int64_t x = 0; x < side; ++x) {
          *pixel++ = row[(x + right) % side * kTiles / side] + *noise++;
        }
      }
    }
  }

  ImageSet set_;
  std::vector<float> patterns_;
  std::vector<float> noise_;
};

}  // namespace

std::shared_ptr<const SampleSource> make_image_source(const ImageSet& set) {
  return std::make_shared<ImageSource>(set);
}

}  // namespace dprof::trainer_harness
