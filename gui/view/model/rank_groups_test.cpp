// SPDX-License-Identifier: Apache-2.0
#include "gui/view/model/rank_groups.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dprof::view {
namespace {

using analyzer::MatchedCollective;
using analyzer::MatchedMessage;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Ranks 0, 1, 2 … on hosts of `per_host`.
class RankGroupsTest : public ::testing::Test {
 protected:
  void set_ranks(int count, int per_host, const std::string& host = "node-") {
    for (int r = 0; r < count; ++r) {
      ranks_.push_back(r);
      hosts_.push_back(fmt::format("{}{}", host, r / per_host));
    }
  }
  void collective(const std::string& name, const std::vector<int>& members, bool complete = true) {
    MatchedCollective one{.communicator = name, .complete = complete};
    for (const int rank : members) one.members.push_back({.rank = rank});
    collectives_.push_back(std::move(one));
  }
  void message(int from, int to) {
    messages_.push_back({.communicator = "pipe", .from = from, .to = to});
  }
  // Groups of `size` ranks that differ by the stride, covering all ranks.
  void lines(const std::string& name, int size, int stride) {
    int number = 0;
    for (int first = 0; first < static_cast<int>(ranks_.size()); ++first) {
      if (first / stride % size != 0) continue;
      std::vector<int> members;
      for (int i = 0; i < size; ++i) members.push_back(first + i * stride);
      collective(fmt::format("{}{}", name, number++), members);
    }
  }
  void pipelines(int size, int stride) {
    for (int first = 0; first + stride < static_cast<int>(ranks_.size()); ++first) {
      if (first / stride % size == size - 1) continue;
      message(first, first + stride);
      message(first + stride, first);
    }
  }
  [[nodiscard]] RankGroups groups() const {
    return rank_groups_of(ranks_, hosts_, collectives_, messages_);
  }
  [[nodiscard]] static std::vector<std::string> sizes_of(const RankGroups& groups) {
    std::vector<std::string> sizes;
    for (const GridAxis& axis : groups.axes)
      sizes.push_back(fmt::format("{} {}", axis.size, title_of(axis.role)));
    return sizes;
  }
  [[nodiscard]] static std::vector<std::string> titles_of(const RankGroups& groups) {
    std::vector<std::string> titles;
    for (const RankDivision& one : groups.divisions) titles.push_back(one.title);
    return titles;
  }

  std::vector<int> ranks_;
  std::vector<std::string> hosts_;
  std::vector<MatchedCollective> collectives_;
  std::vector<MatchedMessage> messages_;
};

TEST_F(RankGroupsTest, TensorTimesDataTimesPipelineIsAGrid) {
  set_ranks(32, 8);
  collective("default_pg", ranks_);
  lines("tensor_", 4, 1);
  lines("data_", 2, 4);
  pipelines(4, 8);
  const RankGroups found = groups();
  EXPECT_THAT(sizes_of(found), ElementsAre("4 tensor", "2 data", "4 stage"));
  const GridAxis& data = found.axes[1];
  EXPECT_EQ(data.at[13], 1U) << "rank 13 = 1 + 4 + 8";
  EXPECT_EQ(found.axes[0].at[13], 1U);
  EXPECT_EQ(found.axes[2].at[13], 1U);
  EXPECT_EQ(data.names[data.line[13]], "data_5");
  EXPECT_THAT(titles_of(found), ElementsAre("host", "tensor group", "data group", "stage"));
  EXPECT_EQ(found.divisions[3].names[1], "stage 2 of 4");
  EXPECT_EQ(found.divisions[3].group[13], 1U);
}

// Equal sizes are distinguished by their members; a group that contains another is not an axis.
TEST_F(RankGroupsTest, NamesNeedNotSayAnything) {
  set_ranks(64, 8);
  lines("0x55aa", 4, 1);
  lines("", 4, 4);
  lines("m", 16, 1);
  collective("embedding", {0, 48});
  const RankGroups found = groups();
  EXPECT_THAT(sizes_of(found), ElementsAre("4 group", "4 group", "4 group"))
      << "the third is what the two leave";
  EXPECT_FALSE(found.axes[2].communicates);
  EXPECT_EQ(found.axes[2].at[63], 3U);
  EXPECT_EQ(found.axes[0].names[1], "group 1") << "an address is no name";
}

// With context parallelism, data groups occur twice: alone and joined with it.
TEST_F(RankGroupsTest, OfGroupsThatContainEachOtherTheSmallerCounts) {
  set_ranks(16, 8);
  lines("tp_", 2, 1);
  lines("cp_", 2, 2);
  lines("dp_", 4, 4);
  for (int t = 0; t < 2; ++t) {
    std::vector<int> joined;
    for (int r = t; r < 16; r += 2) joined.push_back(r);
    collective(fmt::format("dp_cp_{}", t), joined);
  }
  EXPECT_THAT(sizes_of(groups()), ElementsAre("2 tensor", "2 context", "4 data"));
}

TEST_F(RankGroupsTest, WithoutGroupsHostsAndTheirRanksAreTheGrid) {
  set_ranks(32, 8);
  collective("default_pg", ranks_);
  collective("tensor_0", {0, 1, 2}, /*complete=*/false);
  const RankGroups found = groups();
  EXPECT_THAT(sizes_of(found), ElementsAre("8 device", "4 host"));
  EXPECT_THAT(titles_of(found), ElementsAre("host"));
  hosts_[9] = "node-0";
  EXPECT_THAT(sizes_of(groups()), IsEmpty()) << "nine and seven ranks are no grid";
}

TEST_F(RankGroupsTest, GroupsThatLeaveRanksOutMakeNoGrid) {
  set_ranks(8, 8);
  collective("data_0", {0, 1});
  collective("data_1", {2, 3});
  EXPECT_THAT(groups().axes, IsEmpty());
  EXPECT_THAT(groups().divisions, IsEmpty()) << "one host, and nothing that all ranks have";
}

TEST_F(RankGroupsTest, MessagesInOneDirectionAreNoPipeline) {
  set_ranks(8, 8);
  for (int r = 0; r < 8; ++r) message(r, (r + 1) % 4 + r / 4 * 4);
  EXPECT_THAT(groups().axes, IsEmpty());
  for (int r = 0; r < 8; ++r) message((r + 1) % 4 + r / 4 * 4, r);
  EXPECT_THAT(sizes_of(groups()), ElementsAre("4 stage", "2 group")) << "interleaved stages";
}

TEST_F(RankGroupsTest, RacksAreKnownByTheHostsNames) {
  EXPECT_EQ(rack_of("r12n03.cluster"), "r12");
  EXPECT_EQ(rack_of("rack3-node07-ib"), "rack3");
  EXPECT_EQ(rack_of("ip-10-0-3-17"), "ip-10-0-3");
  EXPECT_EQ(rack_of("node-7"), "");
  EXPECT_EQ(rack_of("login"), "");
  set_ranks(16, 2, "r0n");
  EXPECT_THAT(titles_of(groups()), ElementsAre("host")) << "all in one rack";
  for (size_t r = 8; r < 16; ++r) hosts_[r].replace(0, 2, "r1");
  ASSERT_THAT(titles_of(groups()), ElementsAre("host", "rack"));
  EXPECT_THAT(groups().divisions[1].names, ElementsAre("r0", "r1"));
}

}  // namespace
}  // namespace dprof::view
