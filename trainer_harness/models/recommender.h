// SPDX-License-Identifier: Apache-2.0
// A click predictor after DLRM. Numbers go through a small net, categories through embedding
// tables; the products of all pairs go through another net, which predicts the chance of a click.
//
// With data-parallel ranks, the tables are divided among them: table t is on rank t mod ranks. Each
// rank asks all owners for the rows of its samples: three all-to-alls forward (how many samples,
// which rows, the rows) and one backward (their gradients).
#pragma once

#include <memory>
#include <vector>

#include "trainer_harness/models/model.h"

namespace dprof::trainer_harness {

struct RecommenderSize {
  int64_t numbers = 0;
  int64_t tables = 0;
  int64_t rows = 0;  // of each table
  int64_t width = 0;
  int64_t hidden = 0;  // of the nets
};

inline constexpr RecommenderSize kRecommenderTiny{8, 6, 1000, 16, 64};
inline constexpr RecommenderSize kRecommender{13, 26, 100'000, 64, 512};

// Throws UsageError if the tables cannot be divided as the options require.
[[nodiscard]] std::shared_ptr<Model> make_recommender(const RecommenderSize& size,
                                                      const ModelRequest& request);

}  // namespace dprof::trainer_harness
