// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/recorder/recording/recording_internal.h"
#include "collector/recorder/test_support/fake_process.h"
#include "tests/support/temporary_folder.h"

namespace dprof::recorder {
namespace {

class RecordingTest : public ::testing::Test {
 protected:
  // A process that says hello and is gone.
  Guest short_guest() {
    const pid_t child = fork();
    if (child == 0) {
      FakeProcess process(clock_.scale());
      _exit(process.say_hello(server_->path(), {}) ? 0 : 1);
    }
    std::vector<Guest> guests;
    while (guests.empty()) guests = server_->accept_all();
    pollfd ended{guests[0].process.get(), POLLIN, 0};
    poll(&ended, 1, 10'000);
    return std::move(guests[0]);
  }
  void TearDown() override {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }

  const test_support::TemporaryFolder scratch_;
  const RunClock clock_ = RunClock::start({});
  Result<RunFolder> folder_ = RunFolder::create(scratch_.path() / "r", false);
  Result<Server> server_ = Server::open();
};

// A pidfd stays ready once its process has ended: polled on, it costs a whole core until the
// session has drained, which a full disk can make long.
TEST_F(RecordingTest, AProcessThatHasEndedIsNotPolled) {
  Recording recording(clock_, {}, *folder_, [] {});
  recording.welcome(short_guest());
  ASSERT_TRUE(recording.busy());
  EXPECT_EQ(recording.descriptors().size(), 1u);
  recording.watch([](int) { return std::nullopt; });
  EXPECT_TRUE(recording.busy()) << "not concluded yet";
  EXPECT_TRUE(recording.descriptors().empty());
  recording.finish();
}

}  // namespace
}  // namespace dprof::recorder
