// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/control/control.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <random>
#include <thread>

#include "collector/recorder/control/control_answer.h"

namespace dprof::recorder {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;

const std::string kControlToken = "0123456789abcdef0123456789abcdef";

TEST(ControlRequestTest, ReadsWhatDprofCtlSends) {
  EXPECT_EQ(parse_control_request(kControlToken + " status", kControlToken)->action,
            ControlAction::kStatus);
  EXPECT_EQ(parse_control_request(kControlToken + " start", kControlToken)->action,
            ControlAction::kStart);
  EXPECT_EQ(parse_control_request(kControlToken + " stop", kControlToken)->action,
            ControlAction::kStop);
  EXPECT_EQ(parse_control_request(kControlToken + " trigger", kControlToken)->action,
            ControlAction::kTrigger);
  const auto level = parse_control_request(kControlToken + " level full", kControlToken);
  ASSERT_TRUE(level.ok());
  EXPECT_EQ(level->action, ControlAction::kLevel);
  EXPECT_EQ(level->detail, wire::DetailLevel::kFull);
}

TEST(ControlRequestTest, RefusesEverythingElse) {
  for (const std::string& line :
       {std::string(), std::string(" "), kControlToken, kControlToken + " ",
        kControlToken + " level", kControlToken + " level loud", kControlToken + " start now",
        kControlToken + "x status", kControlToken.substr(1) + " status", std::string("status"),
        std::string(200, '\0')}) {
    EXPECT_FALSE(parse_control_request(line, kControlToken).ok()) << line;
  }
  EXPECT_FALSE(parse_control_request(" status", "").ok()) << "an empty token opens nothing";
  EXPECT_EQ(parse_control_request("guess status", kControlToken).error().what, "wrong token");
}

// The server's loop in a thread of its own.
class ControlServerTest : public ::testing::Test {
 protected:
  ControlServerTest() : server_(*ControlServer::open(kControlToken)), thread_([this] { run(); }) {}
  ~ControlServerTest() override {
    end_ = true;
    thread_.join();
  }
  // Its clock runs 20 times as fast, so that nobody waits for its patience to end.
  void run() {
    const steady_clock::time_point start = steady_clock::now();
    while (!end_) {
      server_.serve(
          [this](const ControlRequest&) {
            ++answered_;
            return std::string("{\"ok\":true}");
          },
          start + 20 * (steady_clock::now() - start));
      std::this_thread::sleep_for(milliseconds(1));
    }
  }
  [[nodiscard]] int connected() const {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(server_.port()));
    EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    // The kernel's queue is short; whoever does not fit into it is let in a second later.
    std::this_thread::sleep_for(milliseconds(1));
    return fd;
  }
  // A full table turns people away; somebody who tries again gets in.
  bool answers() {
    for (int i = 0; i < 100; ++i) {
      const auto reply =
          ask_recorder(server_.port(), kControlToken + " status", milliseconds(2000));
      if (reply.ok() && *reply == "{\"ok\":true}") return true;
      std::this_thread::sleep_for(milliseconds(20));
    }
    return false;
  }

  ControlServer server_;
  std::atomic<bool> end_{false};
  std::atomic<int> answered_{0};
  std::thread thread_;
};

TEST_F(ControlServerTest, Answers) { EXPECT_TRUE(answers()); }

TEST_F(ControlServerTest, AWrongTokenGetsNothing) {
  const auto reply = ask_recorder(server_.port(), "0000 status", milliseconds(5000));
  ASSERT_TRUE(reply.ok());
  EXPECT_THAT(*reply, HasSubstr("wrong token"));
  EXPECT_EQ(answered_, 0);
}

TEST_F(ControlServerTest, SurvivesGarbage) {
  std::mt19937 random(7);
  for (int i = 0; i < 50; ++i) {
    const int fd = connected();
    std::string garbage(random() % 2000, '\0');
    for (char& c : garbage) c = static_cast<char>(random());
    [[maybe_unused]] const ssize_t sent = send(fd, garbage.data(), garbage.size(), MSG_NOSIGNAL);
    close(fd);
  }
  EXPECT_TRUE(answers());
  EXPECT_EQ(answered_, 1);
}

TEST_F(ControlServerTest, SurvivesAFloodOfSilentConnections) {
  std::vector<int> sockets;
  for (int i = 0; i < 100; ++i) sockets.push_back(connected());
  EXPECT_TRUE(answers()) << "the silent ones are closed after their time";
  for (const int fd : sockets) close(fd);
}

TEST(AskRecorderTest, NobodyThere) {
  int port = 0;
  {
    const Result<ControlServer> server = ControlServer::open(kControlToken);
    ASSERT_TRUE(server.ok());
    port = server->port();
  }
  const auto reply = ask_recorder(port, "x status", milliseconds(1000));
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, Code::kNotFound);
}

TEST(ControlAnswerTest, AStatusIsOneLine) {
  RecorderStatus status;
  status.host = "a\nb";
  status.capture.armed = true;
  const std::string armed = render_status(status);
  EXPECT_EQ(armed.find('\n'), std::string::npos);
  EXPECT_THAT(armed, HasSubstr("\"state\":\"armed\""));
  status.capture.requested = true;
  EXPECT_THAT(render_status(status), HasSubstr("\"state\":\"recording\""));
}

}  // namespace
}  // namespace dprof::recorder
