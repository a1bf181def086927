// SPDX-License-Identifier: Apache-2.0
// The contents of the records, for each version of the plugin interface.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "collector/inject/test_support/nccl_run.h"

namespace dprof::inject::nccl {
namespace {

using wire::Kind;
constexpr uint64_t kHash = 0xfeed'beef'0123'4567;

class NcclPluginTest : public NcclHostTest {};
using Version5And6 = NcclPluginTest;

std::string text_of(const SeenSession& session, uint32_t id) {
  const wire::ArenaText text = wire::arena_text(session.mapping(), id);
  return {text.text, text.length};
}

// An event is one record: its return carries no information.
void expect_unique_ids(const std::vector<SeenRecord>& seen) {
  std::multiset<uint64_t> open;
  for (const auto& one : of_kind<wire::NcclCall>(seen, Kind::kNcclCall)) open.insert(one.body.id);
  for (const auto& one : of_kind<wire::NcclCollective>(seen, Kind::kNcclCollective)) {
    open.insert(one.body.id);
  }
  for (const auto& one : of_kind<wire::NcclPointToPoint>(seen, Kind::kNcclPointToPoint)) {
    open.insert(one.body.id);
  }
  for (const auto& one : of_kind<wire::NcclLaunch>(seen, Kind::kNcclLaunch)) {
    open.insert(one.body.id);
  }
  EXPECT_EQ(std::set<uint64_t>(open.begin(), open.end()).size(), open.size()) << "ids are unique";
  EXPECT_EQ(open.count(0), 0u);
  const auto of_an_event = [](const SeenRecord& one) {
    return one.record.kind >= Kind::kNcclCall && one.record.kind < Kind::kNcclKernelChannel;
  };
  EXPECT_EQ(static_cast<size_t>(std::count_if(seen.begin(), seen.end(), of_an_event)), open.size());
}

void expect_calls(const std::vector<SeenRecord>& seen) {
  const auto calls = of_kind<wire::NcclCall>(seen, Kind::kNcclCall);
  ASSERT_EQ(calls.size(), 4u + 4u + 8u);
  const wire::NcclCall& first = calls[0].body;
  EXPECT_EQ(calls[0].text, "AllReduce");
  EXPECT_EQ(first.function, wire::function::kAllReduce);
  EXPECT_EQ(first.data_type, wire::data_type::kFloat32);
  EXPECT_EQ(first.hash, kHash);
  EXPECT_EQ(first.count, 1024);
  EXPECT_EQ(first.stream, 0x5000u);
  EXPECT_EQ(first.root, 2);
  EXPECT_EQ(first.flags, wire::nccl_flag::kGroupImplicit);
  EXPECT_EQ(first.point_to_point, 0);
  EXPECT_NE(first.launch, 0u);
  // Two calls of one explicit group.
  EXPECT_EQ(calls[1].text, "AllGather");
  EXPECT_EQ(calls[2].text, "ReduceScatter");
  EXPECT_EQ(calls[1].body.launch, calls[2].body.launch);
  EXPECT_NE(calls[1].body.launch, first.launch);
  EXPECT_EQ(calls[1].body.flags, 0);
  EXPECT_EQ(calls[4].text, "Send");
  EXPECT_EQ(calls[4].body.point_to_point, 1);
  EXPECT_EQ(calls[4].body.data_type, wire::data_type::kBfloat16);
  EXPECT_EQ(calls[4].body.root, -1);
  EXPECT_EQ(calls[4].body.stream, 0x6000u);

  const auto launches = of_kind<wire::NcclLaunch>(seen, Kind::kNcclLaunch);
  ASSERT_EQ(launches.size(), 3u);
  EXPECT_EQ(launches[0].body.group, first.launch);
  EXPECT_EQ(launches[0].body.stream, 0x5000u);
  EXPECT_EQ(launches[1].body.group, calls[1].body.launch);
}

void expect_collectives(const std::vector<SeenRecord>& seen, const SeenSession& session) {
  const auto calls = of_kind<wire::NcclCall>(seen, Kind::kNcclCall);
  const auto collectives = of_kind<wire::NcclCollective>(seen, Kind::kNcclCollective);
  ASSERT_GE(collectives.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(collectives[i].body.call, calls[i].body.id) << "its call, which had ended already";
    EXPECT_EQ(collectives[i].body.function, calls[i].body.function);
    EXPECT_EQ(collectives[i].body.hash, kHash);
    EXPECT_GE(collectives[i].ticks, calls[i].ticks);
  }
  EXPECT_EQ(collectives[0].body.sequence, 0u);
  EXPECT_EQ(collectives[1].body.sequence, 0u);
  EXPECT_EQ(collectives[3].body.sequence, 1u);
  const auto& last = collectives[3];
  EXPECT_EQ(last.body.count, 1024);
  EXPECT_EQ(last.body.root, 2);
  EXPECT_EQ(last.body.channels, 24);
  EXPECT_EQ(last.body.flags, 0);
  ASSERT_EQ(last.more.size(), sizeof(wire::NcclTuning));
  wire::NcclTuning tuning;
  memcpy(&tuning, last.more.data(), sizeof tuning);
  EXPECT_EQ(text_of(session, tuning.algorithm), "RING");
  EXPECT_EQ(text_of(session, tuning.protocol), "LL128");
  EXPECT_EQ(tuning.warps, 16u);
}

using Transfer = std::tuple<std::string, int32_t, uint64_t>;
std::vector<Transfer> transfers_of(const std::vector<SeenRecord>& seen) {
  std::vector<Transfer> transfers;
  for (const auto& one : of_kind<wire::NcclPointToPoint>(seen, Kind::kNcclPointToPoint)) {
    transfers.emplace_back(one.text, one.body.peer, one.body.sequence);
  }
  return transfers;
}

void expect_transfers(const std::vector<SeenRecord>& seen) {
  std::vector<Transfer> wanted = {{"Send", 2, 0}, {"Recv", 2, 0}, {"Send", 2, 1}, {"Send", 3, 0}};
  const uint64_t sends[] = {0, 0, 2, 1};
  const uint64_t receives[] = {0, 0, 1, 0};
  for (int32_t peer = 0; peer < 4; ++peer) {
    wanted.emplace_back("Send", peer, sends[peer]);
    wanted.emplace_back("Recv", peer, receives[peer]);
  }
  EXPECT_EQ(transfers_of(seen), wanted);
  const auto transfers = of_kind<wire::NcclPointToPoint>(seen, Kind::kNcclPointToPoint);
  const auto calls = of_kind<wire::NcclCall>(seen, Kind::kNcclCall);
  EXPECT_EQ(transfers[0].body.hash, kHash);
  EXPECT_EQ(transfers[0].body.function, wire::function::kSend);
  EXPECT_EQ(transfers[1].body.function, wire::function::kRecv);
  EXPECT_EQ(transfers[0].body.count, 512);
  EXPECT_EQ(transfers[0].body.channels, 2);
  EXPECT_EQ(transfers[0].body.data_type, wire::data_type::kBfloat16);
  EXPECT_EQ(transfers[0].body.call, calls[4].body.id);
  // The parts of an AlltoAll lead to calls of that name.
  const auto part = std::find_if(calls.begin(), calls.end(), [&](const auto& call) {
    return call.body.id == transfers[4].body.call;
  });
  ASSERT_NE(part, calls.end());
  EXPECT_EQ(part->body.function, wire::function::kAllToAll);
  EXPECT_EQ(part->body.point_to_point, 1);
}

void expect_communicator(const std::vector<SeenRecord>& seen, uint32_t version) {
  const auto all = of_kind<wire::NcclCommunicator>(seen, Kind::kNcclCommunicator);
  ASSERT_GE(all.size(), 1u);
  EXPECT_EQ(all[0].text, "tensor_parallel");
  EXPECT_EQ(all[0].body.hash, kHash);
  EXPECT_EQ(all[0].body.ordinal, 0u);
  EXPECT_EQ(all[0].body.ranks, 4);
  EXPECT_EQ(all[0].body.rank, 1);
  EXPECT_EQ(all[0].body.nodes, 1);
  EXPECT_EQ(all[0].body.plugin_version, version);
  EXPECT_EQ(all[0].body.device, ~0u);
}

TEST_P(NcclPluginTest, Version5SaysEverything) {
  const auto seen = recorded({"v5"}, {{"HOST_NCCL_VERSION", "22809"}});
  expect_communicator(seen, 5);
  expect_calls(seen);
  expect_collectives(seen, *session_);
  expect_transfers(seen);
  expect_unique_ids(seen);
  EXPECT_EQ(session_->fact(wire::Fact::kNcclSource), "on");
  EXPECT_EQ(session_->fact(wire::Fact::kNcclVersion), "2.28.9");
}

TEST_P(NcclPluginTest, Version6SaysTheSameAndKnowsCopyEngines) {
  const auto seen = recorded({"v6"}, {{"HOST_NCCL_VERSION", "22907"}});
  expect_communicator(seen, 6);
  expect_calls(seen);
  expect_collectives(seen, *session_);
  expect_transfers(seen);
  expect_unique_ids(seen);
  const auto copy = of_kind<wire::NcclCollective>(seen, Kind::kNcclCollective).back();
  EXPECT_EQ(copy.text, "AllGather");
  EXPECT_EQ(copy.body.hash, kHash + 1);
  EXPECT_EQ(copy.body.sequence, wire::kNoSequence) << "its count is another one";
  EXPECT_EQ(copy.body.root, -1);
  wire::NcclTuning tuning;
  memcpy(&tuning, copy.more.data(), sizeof tuning);
  EXPECT_EQ(text_of(*session_, tuning.algorithm), "CE");
  EXPECT_EQ(text_of(*session_, tuning.protocol), "MC");
}

TEST_P(NcclPluginTest, Version4HasNoCalls) {
  const auto seen = recorded({"v4"}, {{"HOST_NCCL_VERSION", "22703"}});
  const auto communicators = of_kind<wire::NcclCommunicator>(seen, Kind::kNcclCommunicator);
  ASSERT_EQ(communicators.size(), 1u);
  EXPECT_EQ(communicators[0].text, "pipeline");
  EXPECT_EQ(communicators[0].body.ranks, 8);
  EXPECT_EQ(communicators[0].body.rank, 5);
  EXPECT_EQ(communicators[0].body.nodes, 2);
  EXPECT_EQ(communicators[0].body.plugin_version, 4u);
  const auto collectives = of_kind<wire::NcclCollective>(seen, Kind::kNcclCollective);
  ASSERT_EQ(collectives.size(), 1u);
  EXPECT_EQ(collectives[0].text, "Broadcast");
  EXPECT_EQ(collectives[0].body.call, 0u);
  EXPECT_EQ(collectives[0].body.hash, kHash);
  EXPECT_EQ(collectives[0].body.sequence, 7u);
  EXPECT_EQ(collectives[0].body.count, 4096);
  EXPECT_EQ(collectives[0].body.root, 3);
  EXPECT_EQ(collectives[0].body.channels, 12);
  EXPECT_EQ(transfers_of(seen), std::vector<Transfer>({{"Recv", 4, 0}}));
  EXPECT_TRUE(of_kind<wire::NcclCall>(seen, Kind::kNcclCall).empty());
  expect_unique_ids(seen);
  EXPECT_EQ(session_->fact(wire::Fact::kNcclVersion), "2.27.3");
}

TEST_P(NcclPluginTest, Version3LearnsTheCommunicatorFromItsEvents) {
  const auto seen = recorded({"v3"}, {{"HOST_NCCL_VERSION", "22605"}});
  const auto communicators = of_kind<wire::NcclCommunicator>(seen, Kind::kNcclCommunicator);
  ASSERT_EQ(communicators.size(), 1u);
  EXPECT_EQ(communicators[0].text, "data_parallel");
  EXPECT_EQ(communicators[0].body.hash, kHash);
  EXPECT_EQ(communicators[0].body.ranks, -1) << "not known";
  EXPECT_EQ(communicators[0].body.rank, 6);
  EXPECT_EQ(communicators[0].body.plugin_version, 3u);
  const auto collectives = of_kind<wire::NcclCollective>(seen, Kind::kNcclCollective);
  ASSERT_EQ(collectives.size(), 2u);
  EXPECT_EQ(collectives[0].text, "Reduce");
  EXPECT_EQ(collectives[0].body.hash, kHash);
  EXPECT_EQ(collectives[1].body.sequence, 1u);
  EXPECT_EQ(collectives[1].body.count, 77);
  EXPECT_EQ(collectives[1].body.data_type, wire::data_type::kFloat64);
  EXPECT_EQ(transfers_of(seen), std::vector<Transfer>({{"Send", 1, 0}}));
  expect_unique_ids(seen);
}

TEST_P(NcclPluginTest, OptionsComeOnlyWhereAskedFor) {
  Child& child = *record({"options"}, {{"HOST_NCCL_VERSION", "22809"}}).release();
  const std::unique_ptr<Child> keep(&child);
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(child.hear(), "f06");
}

TEST_P(NcclPluginTest, ChannelsAndProxyAreOneRecordEach) {
  const auto seen = recorded(
      {"options"}, {{"HOST_NCCL_VERSION", "22809"}, {"DPROF_NCCL_EVENTS", "channels,proxy"}});
  EXPECT_EQ(session_->fact(wire::Fact::kNcclSource), "on; with channels; with proxy");
  EXPECT_EQ(session_->remarks(wire::Remark::kNcclEventsRefused), 0u);
  const uint64_t parent = of_kind<wire::NcclCollective>(seen, Kind::kNcclCollective).at(0).body.id;
  const auto channels = of_kind<wire::NcclKernelChannel>(seen, Kind::kNcclKernelChannel);
  ASSERT_EQ(channels.size(), 3u);
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(channels[i].body.parent, parent);
    EXPECT_EQ(channels[i].body.channel, i);
    EXPECT_EQ(channels[i].body.start_device_ns, 1000 + i);
  }
  EXPECT_EQ(channels[1].body.stop_device_ns, 2001u);
  EXPECT_EQ(channels[2].body.stop_device_ns, 0u) << "an end before the start is not known";
  const auto operations = of_kind<wire::NcclProxy>(seen, Kind::kNcclProxy);
  ASSERT_EQ(operations.size(), 2u);
  EXPECT_EQ(operations[0].body.parent, parent);
  EXPECT_EQ(operations[1].body.parent, 0u) << "another process's number means nothing here";
  for (const auto& one : operations) {
    EXPECT_EQ(one.body.bytes, 200);
    EXPECT_EQ(one.body.peer, 3);
    EXPECT_EQ(one.body.steps, 2u);
    EXPECT_EQ(one.body.channel, 5u);
    EXPECT_EQ(one.body.is_send, 1);
  }
}

TEST_P(NcclPluginTest, OptionsThatFailAreRefusedAloud) {
  const auto seen =
      recorded({"options"}, {{"HOST_NCCL_VERSION", "22707"}, {"DPROF_NCCL_EVENTS", "channels"}});
  EXPECT_THAT(session_->fact(wire::Fact::kNcclSource), ::testing::HasSubstr("without channels"));
  EXPECT_EQ(session_->remarks(wire::Remark::kNcclEventsRefused), 1u);
  EXPECT_EQ(session_->remarks(wire::Remark::kNcclTooOld), 0u);
}

TEST_P(NcclPluginTest, WithoutAVersionThereIsNoFactAndNoOption) {
  recorded({"options"}, {{"DPROF_NCCL_EVENTS", "proxy"}});
  EXPECT_EQ(session_->fact(wire::Fact::kNcclVersion), "");
  EXPECT_EQ(session_->remarks(wire::Remark::kNcclEventsRefused), 1u);
}

INSTANTIATE_TEST_SUITE_P(Host, NcclPluginTest, ::testing::Values(How::kLinked, How::kPlugin),
                         [](const auto& test) {
                           return test.param == How::kLinked ? "Linked" : "Plugin";
                         });

}  // namespace
}  // namespace dprof::inject::nccl
