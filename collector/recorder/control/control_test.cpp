// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/control/control.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>

#include "collector/recorder/control/control_answer.h"
#include "tests/support/temporary_folder.h"

namespace dprof::recorder {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;

TEST(ControlRequestTest, ReadsWhatDprofCtlSends) {
  EXPECT_EQ(parse_control_request("status")->action, ControlAction::kStatus);
  EXPECT_EQ(parse_control_request("start")->action, ControlAction::kStart);
  EXPECT_EQ(parse_control_request("stop")->action, ControlAction::kStop);
  EXPECT_EQ(parse_control_request("trigger")->action, ControlAction::kTrigger);
  const auto level = parse_control_request("level full");
  ASSERT_TRUE(level.ok());
  EXPECT_EQ(level->action, ControlAction::kLevel);
  EXPECT_EQ(level->detail, wire::DetailLevel::kFull);
}

TEST(ControlRequestTest, RefusesEverythingElse) {
  for (const std::string& line :
       {std::string(), std::string(" "), std::string("level"), std::string("level loud"),
        std::string("start now"), std::string("statuses"), std::string(" status"),
        std::string("token status"), std::string(200, '\0')}) {
    EXPECT_FALSE(parse_control_request(line).ok()) << line;
  }
}

// The server's loop in its own thread.
class ControlServerTest : public ::testing::Test {
 protected:
  ControlServerTest()
      : server_(*ControlServer::open(folder_.path() / "ctl")), thread_([this] { run(); }) {}
  ~ControlServerTest() override {
    end_ = true;
    thread_.join();
  }
  // Its clock runs 20 times as fast, so that its patience ends soon.
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
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    server_.path().string().copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    // The kernel's queue is short; a client that does not fit is let in a second later.
    std::this_thread::sleep_for(milliseconds(1));
    return fd;
  }
  // A full table turns clients away; a retry gets in.
  bool answers() {
    for (int i = 0; i < 100; ++i) {
      const auto reply = ask_recorder(server_.path(), "status", milliseconds(2000));
      if (reply.ok() && *reply == "{\"ok\":true}") return true;
      std::this_thread::sleep_for(milliseconds(20));
    }
    return false;
  }

  test_support::TemporaryFolder folder_;
  ControlServer server_;
  std::atomic<bool> end_{false};
  std::atomic<int> answered_{0};
  std::thread thread_;
};

TEST_F(ControlServerTest, Answers) { EXPECT_TRUE(answers()); }

// Wherever the socket is, the kernel identifies the client.
TEST_F(ControlServerTest, AnotherUserGetsNothing) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  for (auto path = server_.path(); path != "/tmp"; path = path.parent_path()) {
    chmod(path.c_str(), 0777);
  }
  const pid_t child = fork();
  if (child == 0) {
    if (setuid(65534) != 0) _exit(2);
    _exit(ask_recorder(server_.path(), "status", milliseconds(5000)).ok() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(answered_, 0);
  EXPECT_TRUE(answers());
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
  const test_support::TemporaryFolder folder;
  const auto path = folder.path() / "ctl";
  { ASSERT_TRUE(ControlServer::open(path).ok()); }
  EXPECT_FALSE(std::filesystem::exists(path)) << "it goes with its server";
  for (const std::string& nowhere : {path.string(), std::string(), std::string(200, 'x')}) {
    const auto reply = ask_recorder(nowhere, "status", milliseconds(1000));
    ASSERT_FALSE(reply.ok());
    EXPECT_EQ(reply.error().code, Code::kNotFound);
  }
}

TEST(ControlAnswerTest, AStatusIsOneLine) {
  RecorderStatus status;
  status.host = "a\nb";
  status.capture.window.kind = Window::Kind::kArmed;
  const std::string armed = render_status(status);
  EXPECT_EQ(armed.find('\n'), std::string::npos);
  EXPECT_THAT(armed, HasSubstr("\"state\":\"armed\""));
  status.capture.requested = true;
  EXPECT_THAT(render_status(status), HasSubstr("\"state\":\"recording\""));
}

}  // namespace
}  // namespace dprof::recorder
