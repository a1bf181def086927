// SPDX-License-Identifier: Apache-2.0
// Assigns ranks to pipelines and stages, by the messages of a step.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/digest/digest.h"
#include "analyzer/match/match.h"
#include "analyzer/steps/result.h"
#include "analyzer/steps/steps.h"

namespace dprof::analyzer {

struct PipelinePlace {
  size_t stage = 0;    // from 0, which reads the input
  size_t replica = 0;  // number of its pipeline, by the lowest rank
};

struct Pipelines {
  std::vector<PipelinePlace> of;  // per entry of Steps::ranks
  size_t stages = 1;
  size_t replicas = 1;

  [[nodiscard]] std::vector<size_t> with_stage(size_t stage) const;      // entries
  [[nodiscard]] std::vector<size_t> with_replica(size_t replica) const;  // entries
};

// A stage gets its first message of a step from the previous stage; the first stage gets none
// before it has sent one. If that fails, a chain of ranks with messages is a pipeline, starting
// from the end with the lower rank. nullopt: no pipeline of at least two stages, or pipelines of
// different lengths. O(messages log messages).
[[nodiscard]] std::optional<Pipelines> pipelines_of(std::span<const RankDigest> digests,
                                                    const Steps& steps, const Matching& matching);

// "stage 3 of 4".
[[nodiscard]] std::string stage_words(size_t stage, size_t stages);

}  // namespace dprof::analyzer
