// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "trainer_harness/data/random.h"
#include "trainer_harness/data/source.h"

namespace dprof::trainer_harness {
namespace {

constexpr float kFeatureNoise = 0.5F;
constexpr int kPopularity = 3;  // few rows of a table are used often, most of them rarely

class ClusterSource final : public SampleSource {
 public:
  explicit ClusterSource(const ClusterSet& set)
      : set_(set), centres_(static_cast<size_t>(set.classes * set.features)) {
    Random random(set.seed);
    for (float& value : centres_) value = random.normal();
  }

  [[nodiscard]] int64_t size() const override { return set_.samples; }

  [[nodiscard]] Batch batch(const BatchRequest& request) const override {
    const auto count = static_cast<int64_t>(request.indices.size());
    torch::Tensor data = torch::empty({count, set_.features});
    torch::Tensor target = torch::empty({count}, torch::kInt64);
    float* feature = data.mutable_data_ptr<float>();
    int64_t* label = target.mutable_data_ptr<int64_t>();
    for (const size_t index : request.indices) {
      Random random(set_.seed, index);
      *label = random.below(set_.classes);
      const float* centre = &centres_[static_cast<size_t>(*label++ * set_.features)];
      for (int64_t i = 0; i < set_.features; ++i) {
        *feature++ = *centre++ + kFeatureNoise * random.normal();
      }
    }
    return {data, target, request.indices};
  }

 private:
  ClusterSet set_;
  std::vector<float> centres_;
};

class ClickSource final : public SampleSource {
 public:
  explicit ClickSource(const ClickSet& set)
      : set_(set), weights_(static_cast<size_t>(set.numbers)) {
    Random random(set.seed);
    for (float& value : weights_) value = random.normal();
  }

  [[nodiscard]] int64_t size() const override { return set_.samples; }

  [[nodiscard]] Batch batch(const BatchRequest& request) const override {
    const auto count = static_cast<int64_t>(request.indices.size());
    torch::Tensor data = torch::empty({count, set_.numbers + set_.tables});
    torch::Tensor target = torch::empty({count, 1});
    float* feature = data.mutable_data_ptr<float>();
    float* clicked = target.mutable_data_ptr<float>();
    for (const size_t index : request.indices) {
      Random random(set_.seed, index);
      *clicked++ = draw(random, feature) > 0 ? 1.0F : 0.0F;
      feature += set_.numbers + set_.tables;
    }
    return {data, target, request.indices};
  }

 private:
  // Writes a sample's features, and returns the hidden model's score.
  float draw(Random& random, float* feature) const {
    float score = 0;
    for (const float weight : weights_) {
      *feature = random.normal();
      score += weight * *feature++;
    }
    for (int64_t table = 0; table < set_.tables; ++table) {
      const auto row = static_cast<int64_t>(std::pow(random.uniform(), kPopularity) *
                                            static_cast<double>(set_.rows));
      *feature++ = static_cast<float>(row);
      Random taste(set_.seed + static_cast<uint64_t>(table) + 1, static_cast<uint64_t>(row));
      score += taste.normal();
    }
    return score;
  }

  ClickSet set_;
  std::vector<float> weights_;
};

}  // namespace

std::shared_ptr<const SampleSource> make_cluster_source(const ClusterSet& set) {
  return std::make_shared<ClusterSource>(set);
}

std::shared_ptr<const SampleSource> make_click_source(const ClickSet& set) {
  return std::make_shared<ClickSource>(set);
}

}  // namespace dprof::trainer_harness
