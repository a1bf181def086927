// SPDX-License-Identifier: Apache-2.0
// The real libnccl (of the wheel) with libdprof.so as its plugin, without a GPU: NCCL finds the
// file and the tables, and its own adapters make the events of the older versions. Whether NCCL
// creates events by itself cannot be tested here: a communicator needs a GPU.
#include <gmock/gmock.h>

#include "collector/inject/test_support/nccl_run.h"
#include "tests/support/paths.h"

namespace dprof::inject::nccl {
namespace {

using wire::Kind;
constexpr uint64_t kRealHash = 0xfeed'beef'0123'4567;
constexpr int kNoSymbols = 77;

class RealNccl : public ::testing::Test {
 protected:
  void SetUp() override {
    if (nccl_.empty() || !std::filesystem::exists(nccl_)) {
      GTEST_SKIP() << "libnccl.so.2 is not here (the wheel nvidia-nccl-cu13 has it)";
    }
  }
  const std::string library_ = test_support::lib_dir() + "/libdprof.so";
  const std::string nccl_ = DPROF_NCCL_LIBRARY;
  const MiniRecorder recorder_;
};

TEST_F(RealNccl, FindsThePluginAndDrivesItsTables) {
  Child child({test_support::test_bin_dir() + "/nccl_real", nccl_},
              {{"NCCL_PROFILER_PLUGIN", library_}, {wire::kSocketVariable, recorder_.path()}});
  const std::string version = child.hear();
  EXPECT_GE(std::stoi(version), 22600) << "ncclGetVersion needs no GPU";
  const auto session = recorder_.accept(5'000);
  if (session == nullptr && child.wait() == kNoSymbols) {
    GTEST_SKIP() << "this libnccl has no symbols left to call it by";
  }
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(child.hear(), "ready");
  const auto seen = session->drain();

  // In order of creation: through versions 5, 4 and 3.
  std::vector<uint32_t> versions;
  for (const auto& one : of_kind<wire::NcclCommunicator>(seen, Kind::kNcclCommunicator)) {
    versions.push_back(one.body.plugin_version);
    EXPECT_EQ(one.text, "real");
    EXPECT_EQ(one.body.ranks, 4);
  }
  EXPECT_EQ(versions, std::vector<uint32_t>({5, 4}))
      << "newer NCCLs give version 3 no communicator at all";
  const auto collectives = of_kind<wire::NcclCollective>(seen, Kind::kNcclCollective);
  ASSERT_EQ(collectives.size(), 3u);
  const uint64_t hashes[] = {kRealHash, kRealHash + 1, 0};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(collectives[i].text, "AllReduce");
    EXPECT_EQ(collectives[i].body.hash, hashes[i]);
    EXPECT_EQ(collectives[i].body.sequence, 0u);
    EXPECT_EQ(collectives[i].body.count, 1024);
    EXPECT_EQ(collectives[i].body.root, 2);
    EXPECT_EQ(collectives[i].body.data_type, wire::data_type::kFloat32);
    EXPECT_EQ(collectives[i].body.channels, 24);
    EXPECT_EQ(collectives[i].body.call != 0, i == 0);
  }
  const auto transfers = of_kind<wire::NcclPointToPoint>(seen, Kind::kNcclPointToPoint);
  ASSERT_EQ(transfers.size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(transfers[i].body.peer, 2);
    EXPECT_EQ(transfers[i].body.count, 512);
    EXPECT_EQ(transfers[i].body.sequence, i % 2);
    EXPECT_EQ(transfers[i].body.data_type, wire::data_type::kBfloat16);
  }
  EXPECT_EQ(session->fact(wire::Fact::kNcclSource), "on");
  const int number = std::stoi(version);
  EXPECT_EQ(session->fact(wire::Fact::kNcclVersion), std::to_string(number / 10000) + "." +
                                                         std::to_string(number / 100 % 100) + "." +
                                                         std::to_string(number % 100));
  child.say("end");
  EXPECT_EQ(child.wait(), 0);
}

TEST_F(RealNccl, WithoutACommunicatorSaysSo) {
  Child child({test_support::test_bin_dir() + "/loader_probe", nccl_, "all_reduce"},
              {{"NVTX_INJECTION64_PATH", library_},
               {"NCCL_PROFILER_PLUGIN", library_},
               {wire::kSocketVariable, recorder_.path()}});
  const auto session = recorder_.accept();
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(child.hear(), "ready");
  EXPECT_TRUE(soon([&] {
    return session->fact(wire::Fact::kNcclSource).find("made no communicator") != std::string::npos;
  }));
  EXPECT_EQ(session->remarks(wire::Remark::kNcclTooOld), 0u);
}

}  // namespace
}  // namespace dprof::inject::nccl
