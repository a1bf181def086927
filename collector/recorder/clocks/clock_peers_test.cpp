// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/clocks/clock_peers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "tests/support/temporary_folder.h"

namespace dprof::recorder {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr char kToken[] = "0123456789abcdef0123456789abcdef";
constexpr char kSecret[] = "a secret of more than 16 bytes";

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

  // Sends it one packet; returns its answer within a moment.
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
  // The rate for converting ticks was measured to some ppm.
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
  // An unsolicited answer.
  const auto answer = encode(ProbePacket{PacketKind::kAnswer, 1, 2, 3}, probe_key(kToken));
  EXPECT_TRUE(ask(answer, milliseconds(50)).empty());
  EXPECT_TRUE(wait_until([&] { return peers_->refused() == 4; })) << peers_->refused();
  EXPECT_TRUE(peers_->take_probes().empty());
  const auto right = encode(ProbePacket{PacketKind::kProbe, 1, 0, 0}, probe_key(kToken));
  EXPECT_FALSE(ask(right, milliseconds(60'000)).empty()) << "it lives on";
}

// Both clocks count the same ticks, so the true offset is known.
TEST_F(ClockPeersTest, ProbesBoundTheOffset) {
  RecorderFile file = recorder("b", "clock b");
  const auto peers = *ClockPeers::start(own_clock_, file, std::nullopt);
  EXPECT_TRUE(peers->wants_target());
  peers->probe({loopback(file_.probe_port), probe_key(kToken), "clock a"});
  std::vector<schema::ClockProbeRow> rows;
  ASSERT_TRUE(wait_until([&] {
    for (const schema::ClockProbeRow& row : peers->take_probes()) rows.push_back(row);
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
    for (const schema::ClockProbeRow& row : peers->take_probes()) rows.push_back(row);
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
  EXPECT_TRUE(peers->take_probes().empty());
  peers->burst_now();  // ends even without an answer
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
  Result<MeetingPoint> host = MeetingPoint::open(where, kSecret, job);
  ASSERT_TRUE(host.ok()) << host.error().what;
  ASSERT_TRUE(host->listens());
  const RunClock clock = RunClock::start();
  RecorderFile file = recorder("a", "clock a");
  const auto peers = *ClockPeers::start(clock, file, *std::move(host));
  const Result<MeetingPoint> guest = MeetingPoint::open(where, kSecret, job);
  ASSERT_TRUE(guest.ok());
  EXPECT_FALSE(guest->listens());
  const std::optional<MeetPacket> met = guest->ask(std::chrono::seconds(60));
  ASSERT_TRUE(met);
  EXPECT_EQ(met->run_id, "run");
  EXPECT_EQ(met->clock_id, "clock a");
  for (const auto& [secret, id] :
       {std::pair(kSecret, "another job"), {"another secret, as long", "job"}}) {
    const Result<MeetingPoint> stranger = MeetingPoint::open(where, secret, {id, ""});
    ASSERT_TRUE(stranger.ok());
    EXPECT_FALSE(stranger->ask(milliseconds(500)));
  }
  // Any recorder that has met it can probe it, by a key that was never sent.
  RecorderFile own = recorder("b", "clock b");
  const auto guest_peers = *ClockPeers::start(clock, own, std::nullopt);
  guest_peers->probe({guest->address(), guest->probe_key(met->run_id), met->clock_id});
  EXPECT_TRUE(wait_until([&] { return !guest_peers->take_probes().empty(); }));
}

// Everything sent over the network can be read and resent by others.
TEST(MeetingPointTest, NoKeyIsSentAndNothingIsAnsweredTwice) {
  const Job job{"job", "rank 0"};
  const int port = port_of(bind_udp(loopback(0))->get());
  Result<MeetingPoint> host = MeetingPoint::open("127.0.0.1:" + std::to_string(port), kSecret, job);
  ASSERT_TRUE(host.ok()) << host.error().what;
  const PeerKey key = host->key();
  const PeerKey secret_key = host->probe_key("run");
  const RunClock clock = RunClock::start();
  RecorderFile file = recorder("a", "clock a");
  const auto peers = *ClockPeers::start(clock, file, *std::move(host));
  const auto question = encode(MeetPacket{PacketKind::kMeet, 7, {}, {}}, key);
  const Descriptor socket = *bind_udp(loopback(0));
  uint8_t buffer[512];
  std::optional<Received> answer;
  send_to(socket.get(), question, loopback(port));
  ASSERT_TRUE(wait_until([&] { return (answer = receive(socket.get(), buffer)).has_value(); }));
  const std::string_view said(reinterpret_cast<const char*>(buffer), answer->bytes);
  for (const PeerKey& secret : {probe_key(kToken), secret_key, key}) {
    for (const uint64_t word : secret) {
      EXPECT_EQ(said.find({reinterpret_cast<const char*>(&word), sizeof word}), said.npos);
    }
  }
  send_to(socket.get(), question, loopback(port));
  EXPECT_TRUE(wait_until([&] { return peers->refused() == 1; }));
  EXPECT_FALSE(receive(socket.get(), buffer));
}

// An attacker who knows neither secret nor question, but has seen an answer.
TEST(MeetingPointTest, AnAnswerOfAnotherSenderIsNone) {
  const Job job{"job", "rank 0"};
  const Descriptor listener = *bind_udp(loopback(0));
  const Descriptor other = *bind_udp(loopback(0));
  const Result<MeetingPoint> guest =
      MeetingPoint::open("127.0.0.1:" + std::to_string(port_of(listener.get())), kSecret, job);
  ASSERT_TRUE(guest.ok());
  std::atomic<bool> done = false;
  std::thread impostor([&] {
    uint8_t buffer[512];
    while (!done) {
      const std::optional<Received> got = receive(listener.get(), buffer);
      const auto question =
          got ? decode_meet(std::span(buffer).first(got->bytes), guest->key()) : std::nullopt;
      if (!question) continue;
      send_to(other.get(),
              encode(MeetPacket{PacketKind::kWelcome, question->sequence, "run", "clock"},
                     guest->key()),
              got->from);
      send_to(listener.get(),
              encode(MeetPacket{PacketKind::kWelcome, question->sequence + 1, "run", "clock"},
                     guest->key()),
              got->from);
    }
  });
  EXPECT_FALSE(guest->ask(milliseconds(500)));
  done = true;
  impostor.join();
}

TEST(MeetSecretTest, IsRefusedWhereItIsNone) {
  const test_support::TemporaryFolder folder;
  const auto file = folder.path() / "key";
  EXPECT_EQ(read_meet_secret(file).error().code, Code::kUsage);
  std::ofstream(file) << "  0123456789abcdef\n";
  std::filesystem::permissions(file, std::filesystem::perms(0644));
  EXPECT_NE(read_meet_secret(file).error().what.find("others can read it"), std::string::npos);
  std::filesystem::permissions(file, std::filesystem::perms(0600));
  EXPECT_EQ(*read_meet_secret(file), "0123456789abcdef");
  std::ofstream(file) << "short\n          \n  \n";
  EXPECT_NE(read_meet_secret(file).error().what.find("can be guessed"), std::string::npos);
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
