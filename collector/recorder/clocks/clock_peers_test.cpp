// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/clocks/clock_peers.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

namespace dprof::recorder {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr char kToken[] = "0123456789abcdef0123456789abcdef";

RecorderFile recorder(const std::string& id, const std::string& clock) {
  RecorderFile file;
  file.id = id;
  file.run_id = "run";
  file.clock_id = clock;
  file.address = "127.0.0.1";
  file.token = kToken;
  return file;
}

bool wait_until(const std::function<bool()>& done) {
  const auto give_up = steady_clock::now() + std::chrono::seconds(60);
  while (!done()) {
    if (steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return true;
}

Address loopback(int port) { return *find_address("127.0.0.1", port); }

// A recorder that answers.
class ClockPeersTest : public ::testing::Test {
 protected:
  ClockPeersTest()
      : clock_(RunClock::start({.offset_ns = 50'000'000, .drift_ppb = 0})),
        own_clock_(RunClock::start()),
        file_(recorder("a", "clock a")),
        peers_(*ClockPeers::start(clock_, file_, std::nullopt)) {}

  // One packet to it, and what it answers within a moment.
  std::vector<uint8_t> ask(std::span<const uint8_t> packet, milliseconds patience) const {
    const Descriptor socket = *bind_udp(loopback(0));
    send_to(socket.get(), packet, loopback(file_.probe_port));
    std::vector<uint8_t> buffer(512);
    const auto give_up = steady_clock::now() + patience;
    while (steady_clock::now() < give_up) {
      if (const std::optional<Received> got = receive(socket.get(), buffer)) {
        buffer.resize(got->bytes);
        return buffer;
      }
      std::this_thread::sleep_for(milliseconds(1));
    }
    return {};
  }

  RunClock clock_, own_clock_;
  RecorderFile file_;
  std::unique_ptr<ClockPeers> peers_;
};

TEST_F(ClockPeersTest, AnswersWithItsOwnClock) {
  const auto packet = encode(ProbePacket{PacketKind::kProbe, 77, 0, 0}, probe_key(kToken));
  const int64_t before = clock_.read().monotonic_raw_ns;
  const std::vector<uint8_t> bytes = ask(packet, milliseconds(60'000));
  const int64_t after = clock_.read().monotonic_raw_ns;
  const std::optional<ProbePacket> answer = decode_probe(bytes, probe_key(kToken));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, PacketKind::kAnswer);
  EXPECT_EQ(answer->sequence, 77u);
  // Ticks are converted at a rate that was measured to some ppm.
  EXPECT_GE(answer->receive_ns, before - 100'000);
  EXPECT_GE(answer->reply_ns, answer->receive_ns);
  EXPECT_LE(answer->reply_ns, after + 100'000);
}

TEST_F(ClockPeersTest, SaysNothingToStrangersAndGarbage) {
  const auto wrong = encode(ProbePacket{PacketKind::kProbe, 1, 0, 0}, probe_key("another token"));
  EXPECT_TRUE(ask(wrong, milliseconds(50)).empty());
  const std::vector<uint8_t> garbage(1400, 0xaa);
  EXPECT_TRUE(ask(garbage, milliseconds(50)).empty());
  EXPECT_TRUE(ask({}, milliseconds(50)).empty());
  // An answer that nobody asked for.
  const auto answer = encode(ProbePacket{PacketKind::kAnswer, 1, 2, 3}, probe_key(kToken));
  EXPECT_TRUE(ask(answer, milliseconds(50)).empty());
  EXPECT_TRUE(wait_until([&] { return peers_->refused() == 4; })) << peers_->refused();
  EXPECT_TRUE(peers_->take().empty());
  const auto right = encode(ProbePacket{PacketKind::kProbe, 1, 0, 0}, probe_key(kToken));
  EXPECT_FALSE(ask(right, milliseconds(60'000)).empty()) << "it lives on";
}

// Both clocks count the same ticks, so that the truth is known.
TEST_F(ClockPeersTest, ProbesBoundTheOffset) {
  RecorderFile file = recorder("b", "clock b");
  const auto peers = *ClockPeers::start(own_clock_, file, std::nullopt);
  EXPECT_TRUE(peers->wants_target());
  peers->probe({loopback(file_.probe_port), probe_key(kToken), "clock a"});
  std::vector<schema::ClockProbeRow> rows;
  ASSERT_TRUE(wait_until([&] {
    for (const schema::ClockProbeRow& row : peers->take()) rows.push_back(row);
    return rows.size() >= 8;
  }));
  EXPECT_FALSE(peers->wants_target());
  for (const schema::ClockProbeRow& row : rows) {
    EXPECT_EQ(row.peer, "clock a");
    EXPECT_LE(row.send_ns, row.receive_ns);
    const int64_t there = row.peer_receive_ns - clock_.origin().monotonic_raw_ns;
    const uint64_t ticks = own_clock_.now_ticks();
    const int64_t offset = clock_.to_host(ticks).ns - own_clock_.to_host(ticks).ns;
    constexpr int64_t kRateErrorNs = 100'000;  // two rates, each measured to some ppm
    EXPECT_GE(there - row.send_ns, offset - kRateErrorNs);
    EXPECT_LE(there - row.receive_ns, offset + kRateErrorNs);
  }
}

TEST_F(ClockPeersTest, AnAnswerCountsOnce) {
  // A peer that answers each probe three times: with garbage in the hash, rightly, and again.
  const Descriptor socket = *bind_udp(loopback(0));
  RecorderFile file = recorder("b", "clock b");
  const auto peers = *ClockPeers::start(own_clock_, file, std::nullopt);
  peers->probe({loopback(port_of(socket.get())), probe_key(kToken), "clock a"});
  int answered = 0;
  ASSERT_TRUE(wait_until([&] {
    uint8_t buffer[512];
    const std::optional<Received> got = receive(socket.get(), buffer);
    if (!got) return false;
    const auto probe = decode_probe(std::span(buffer).first(got->bytes), probe_key(kToken));
    if (!probe) return false;
    auto reply = encode(ProbePacket{PacketKind::kAnswer, probe->sequence, 5, 6}, probe_key(kToken));
    auto forged = reply;
    forged.back() ^= 1;
    for (const auto& packet : {forged, reply, reply}) send_to(socket.get(), packet, got->from);
    return ++answered == 8;
  }));
  std::vector<schema::ClockProbeRow> rows;
  ASSERT_TRUE(wait_until([&] {
    for (const schema::ClockProbeRow& row : peers->take()) rows.push_back(row);
    return peers->refused() >= 16;
  }));
  EXPECT_LE(rows.size(), 8u);
  EXPECT_GE(rows.size(), 1u);
  for (size_t i = 1; i < rows.size(); ++i) EXPECT_NE(rows[i].send_ns, rows[i - 1].send_ns);
}

TEST_F(ClockPeersTest, OneThatIsSilentIsGivenUp) {
  RecorderFile file = recorder("b", "clock b");
  const auto peers = *ClockPeers::start(own_clock_, file, std::nullopt);
  const Descriptor nobody = *bind_udp(loopback(0));
  peers->probe({loopback(port_of(nobody.get())), probe_key(kToken), "clock a"});
  EXPECT_FALSE(peers->wants_target());
  EXPECT_TRUE(wait_until([&] { return peers->wants_target(); }));
  EXPECT_TRUE(peers->take().empty());
  peers->burst_now();  // ends although nobody answers
}

TEST(ChooseReferenceTest, TheFirstThatLivesElseTheLowestId) {
  const auto everybody = [](const RecorderFile&) { return true; };
  std::vector<RecorderFile> files = {recorder("c", "1"), recorder("a", "2"), recorder("b", "3")};
  for (RecorderFile& file : files) file.probe_port = 1;
  files[0].first = true;
  EXPECT_EQ(choose_reference(files, files[1], everybody)->id, "c");
  EXPECT_FALSE(choose_reference(files, files[0], everybody)) << "it is the reference itself";
  const auto but_c = [](const RecorderFile& file) { return file.id != "c"; };
  EXPECT_EQ(choose_reference(files, files[2], but_c)->id, "a");
  EXPECT_FALSE(choose_reference(files, files[1], but_c));
  files[1].clock_id = "1";
  EXPECT_FALSE(choose_reference(files, files[1], everybody)) << "on the reference's host";
  files[2].first_on_host = false;
  EXPECT_FALSE(choose_reference(files, files[2], everybody)) << "another of its host does it";
  files[2].first_on_host = true;
  files[0].run_id = files[1].run_id = "another";
  EXPECT_FALSE(choose_reference(files, files[2], everybody));
}

TEST(MeetingPointTest, WhoComesLaterAsks) {
  const Job job{"job", "rank 0"};
  const int port = port_of(bind_udp(loopback(0))->get());
  const std::string where = "127.0.0.1:" + std::to_string(port);
  Result<MeetingPoint> host = MeetingPoint::open(where, job);
  ASSERT_TRUE(host.ok()) << host.error().what;
  ASSERT_TRUE(host->listens());
  const RunClock clock = RunClock::start();
  RecorderFile file = recorder("a", "clock a");
  const auto peers = *ClockPeers::start(clock, file, *std::move(host));
  const Result<MeetingPoint> guest = MeetingPoint::open(where, job);
  ASSERT_TRUE(guest.ok());
  EXPECT_FALSE(guest->listens());
  const std::optional<MeetPacket> met = guest->ask(std::chrono::seconds(60));
  ASSERT_TRUE(met);
  EXPECT_EQ(met->run_id, "run");
  EXPECT_EQ(met->clock_id, "clock a");
  EXPECT_EQ(met->key, probe_key(kToken));
  const Result<MeetingPoint> stranger = MeetingPoint::open(where, {"another job", ""});
  ASSERT_TRUE(stranger.ok());
  EXPECT_FALSE(stranger->ask(milliseconds(500)));
}

TEST(AddressTest, IsReadFromText) {
  EXPECT_EQ(parse_address("127.0.0.1:80")->port(), 80);
  EXPECT_EQ(parse_address("[::1]:443")->host(), "::1");
  for (const char* bad : {"", "host", ":80", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536",
                          "127.0.0.1:80x", "127.0.0.1:-1"}) {
    const Result<Address> refused = parse_address(bad);
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_EQ(refused.error().code, Code::kUsage);
    EXPECT_FALSE(refused.error().hint.empty());
  }
  EXPECT_EQ(own_address({{"MASTER_ADDR", "127.0.0.1"}}), "127.0.0.1");
  EXPECT_TRUE(find_address(own_address({}), 0).ok());
}

}  // namespace
}  // namespace dprof::recorder
