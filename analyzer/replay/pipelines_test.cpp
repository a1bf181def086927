// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/pipelines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dprof::analyzer {
namespace {

using ::testing::ElementsAre;

// One step with messages from rank to rank, each a moment after the previous one.
struct Sent {
  explicit Sent(size_t ranks) : digests(ranks) {
    steps.steps.emplace_back();
    for (size_t r = 0; r < ranks; ++r) {
      digests[r].rank = static_cast<int>(r);
      steps.ranks.push_back(r);
      steps.steps[0].windows.push_back({{0}, {1000}});
    }
  }

  Member member(size_t rank) {
    CollectiveRecords& records = digests[rank].collectives;
    CollectiveRecord record;
    record.start = record.end = TraceNs{now};
    records.push_back(record);
    return {.digest = static_cast<uint32_t>(rank),
            .record = static_cast<uint32_t>(records.size() - 1)};
  }

  Sent& send(size_t from, size_t to) {
    ++now;
    matching.messages.push_back({.send = member(from),
                                 .receive = member(to),
                                 .from = static_cast<int>(from),
                                 .to = static_cast<int>(to)});
    return *this;
  }

  // By rank; empty = no pipeline.
  [[nodiscard]] std::vector<size_t> stages() const {
    std::vector<size_t> stages;
    if (const auto pipelines = pipelines_of(digests, steps, matching)) {
      for (const PipelinePlace& place : pipelines->of) stages.push_back(place.stage);
    }
    return stages;
  }

  int64_t now = 0;
  std::vector<RankDigest> digests;
  Steps steps;
  Matching matching;
};

TEST(PipelinesTest, TheFirstMessageOfAStepComesFromTheStageBefore) {
  EXPECT_THAT(Sent(3).send(2, 1).send(1, 0).send(0, 1).send(1, 2).stages(), ElementsAre(2, 1, 0));
  EXPECT_THAT(Sent(4).send(0, 2).send(1, 3).send(3, 1).send(2, 0).stages(), ElementsAre(0, 0, 1, 1))
      << "two pipelines of two stages";
  EXPECT_THAT(Sent(3).send(0, 1).send(1, 2).send(2, 0).send(0, 1).stages(), ElementsAre(0, 1, 2))
      << "the last stage has a second part of the model, and sends to the first";
}

TEST(PipelinesTest, StepsThatBeginAtOtherWorkLeaveTheChain) {
  EXPECT_THAT(Sent(3).send(1, 0).send(2, 1).send(0, 1).send(1, 2).stages(), ElementsAre(0, 1, 2))
      << "the messages of backward come first";
}

TEST(PipelinesTest, WhatIsNoPipeline) {
  EXPECT_THAT(Sent(2).stages(), ElementsAre()) << "no messages";
  EXPECT_THAT(Sent(3).send(0, 1).stages(), ElementsAre()) << "one has none";
  EXPECT_THAT(Sent(4).send(0, 1).send(0, 2).send(0, 3).stages(), ElementsAre()) << "a star";
}

}  // namespace
}  // namespace dprof::analyzer
