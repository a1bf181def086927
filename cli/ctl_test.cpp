// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "cli/test_support/process.h"
#include "collector/recorder/run/recorder_file.h"
#include "collector/recorder/run/run_folder.h"

namespace dprof::cli {
namespace {

using ::testing::HasSubstr;

// Answers one request on that socket.
class Answering {
 public:
  Answering(const std::string& path, std::string answer)
      : listener_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    listen(listener_, 1);
    thread_ = std::thread([this, text = std::move(answer)] {
      const int caller = accept(listener_, nullptr, nullptr);
      char request[256];
      static_cast<void>(!read(caller, request, sizeof request));
      static_cast<void>(!write(caller, text.data(), text.size()));
      close(caller);
    });
  }
  ~Answering() {
    thread_.join();
    close(listener_);
  }
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;

 private:
  int listener_;
  std::thread thread_;
};

Ended status_of(const std::string& answer) {
  const TemporaryFolder scratch;
  const std::string socket = (scratch.path() / "ctl").string();
  const Answering recorder(socket, answer + "\n");
  recorder::RecorderFile file;
  file.id = "me";
  file.host = recorder::host_name();
  file.pid = 1;
  file.control_socket = socket;
  EXPECT_TRUE(recorder::write_recorder_file(scratch.path() / "r", file).ok());
  return run_dprof(scratch, {"ctl", "r", "status"});
}

// From another release, or not a recorder at all.
TEST(CtlTest, AnAnswerThatLacksFieldsOrHasThemOtherwiseIsNoCrash) {
  const std::string begin = R"({"schema":"dprof.control/1","ok":true,"recorder":"me")";
  const Ended bare = status_of(begin + "}");
  EXPECT_EQ(bare.code, 0) << bare.err;
  EXPECT_THAT(bare.out, HasSubstr("0 events"));
  const Ended odd = status_of(
      begin +
      R"(,"host":5,"pid":"x","window":7,"keep_seconds":"y","max_overhead":{},"processes":[3,{"rank":"z"}]})");
  EXPECT_EQ(odd.code, 0) << odd.err;
  EXPECT_THAT(odd.out, HasSubstr("no rank"));
  EXPECT_EQ(status_of(R"({"schema":5})").code, 3);
  EXPECT_EQ(status_of(R"({"schema":"dprof.control/1","ok":"no","error":[]})").code, 2);
  EXPECT_EQ(status_of("[1]").code, 3);
}

}  // namespace
}  // namespace dprof::cli
