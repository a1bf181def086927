// SPDX-License-Identifier: Apache-2.0
// The process that the user started, the recorder and the command: if one dies, the others
// continue.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <functional>

#include "cli/test_support/recording.h"
#include "schema/trace_reader.h"

namespace dprof::cli {
namespace {

namespace fs = std::filesystem;
using schema::TraceReader;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::vector<std::string> dprof(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), kDprof);
  return arguments;
}

bool wait_for(const std::function<bool()>& condition) {
  for (int i = 0; i < 10'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

// Whatever its parent: it has a state until it is reaped.
bool has_ended(pid_t pid) {
  const std::string stat = text_of("/proc/" + std::to_string(pid) + "/stat");
  return stat.empty() || stat[stat.rfind(')') + 2] == 'Z';
}

bool is_stopped(pid_t pid) {
  const std::string stat = text_of("/proc/" + std::to_string(pid) + "/stat");
  return !stat.empty() && stat[stat.rfind(')') + 2] == 'T';
}

class RecordSupervisorTest : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path run() const { return scratch_.path() / "r"; }
  void let_go(const char* file) const { std::ofstream(scratch_.path() / file) << "x"; }

  const TemporaryFolder scratch_;
};

// --- the recorder dies ---

TEST_F(RecordSupervisorTest, TheDeathOfTheRecorderDoesNotEndTheCommand) {
  Running running(scratch_,
                  dprof(record({"-o", "r"}, {"hello", "sleep=600", "print=ready", "beats=stop"})));
  ASSERT_TRUE(running.wait_for_output("ready"));
  ASSERT_EQ(kill(recorder_of(running), SIGKILL), 0);
  ASSERT_TRUE(wait_for([&] { return running.err().find("dprof recover") != std::string::npos; }));
  EXPECT_THAT(running.err(), HasSubstr("signal:9"));
  let_go("stop");
  EXPECT_EQ(running.wait(), 5) << "good, but something was lost";
  EXPECT_THAT(running.out(), HasSubstr("beats"));
  EXPECT_EQ(run_dprof(scratch_, {"recover", "r"}).code, 5);
  EXPECT_THAT(files_in(run()), UnorderedElementsAre("rank-00000.dprof", "run.json"));
}

TEST_F(RecordSupervisorTest, SignalsAndCodesPassWithoutARecorder) {
  Running running(scratch_, dprof(shell({"-n", "2", "-o", "r"},
                                        "trap 'echo got it; exit 3' TERM; echo ready; "
                                        "while true; do sleep 0.05; done")));
  ASSERT_TRUE(running.wait_for_output("[0] ready"));
  ASSERT_TRUE(running.wait_for_output("[1] ready"));
  ASSERT_EQ(kill(recorder_of(running), SIGKILL), 0);
  ASSERT_TRUE(wait_for([&] { return recorder_of(running) == 0; }));
  running.send(SIGTERM);
  EXPECT_EQ(running.wait(), 3);
  EXPECT_THAT(running.out(), HasSubstr("[0] got it\n"));
  EXPECT_THAT(running.out(), HasSubstr("[1] got it\n"));
}

TEST_F(RecordSupervisorTest, TheFirstFailingRankEndsTheOthersWithoutARecorder) {
  Running running(scratch_,
                  dprof(shell({"-n", "2", "-o", "r"},
                              "echo ready; if [ $RANK = 1 ]; then while ! [ -e stop ]; do sleep "
                              "0.01; done; exit 9; fi; trap '' TERM; while true; do sleep 0.05; "
                              "done")));
  ASSERT_TRUE(running.wait_for_output("[0] ready"));
  ASSERT_TRUE(running.wait_for_output("[1] ready"));
  ASSERT_EQ(kill(recorder_of(running), SIGKILL), 0);
  let_go("stop");
  EXPECT_EQ(running.wait(), 9) << "and the one that ignores the request is killed";
}

// A port that is ours and never answers a recorder that wants to meet others.
class SilentPort {
 public:
  SilentPort() : fd_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (bind(fd_, reinterpret_cast<sockaddr*>(&address), length) != 0) return;
    if (getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length) != 0) return;
    where_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  ~SilentPort() { close(fd_); }
  SilentPort(const SilentPort&) = delete;
  SilentPort& operator=(const SilentPort&) = delete;

  [[nodiscard]] const std::string& where() const { return where_; }

 private:
  int fd_;
  std::string where_;
};

TEST_F(RecordSupervisorTest, ARecorderThatDiesBeforeTheStartCostsTheRecordingAlone) {
  const SilentPort nobody;
  std::ofstream(scratch_.path() / "key") << "0123456789abcdef";
  fs::permissions(scratch_.path() / "key", fs::perms(0600));
  Running running(scratch_,
                  dprof(shell({"-o", "r", "--meet", nobody.where(), "--meet-key-file", "key"},
                              "echo trained; exit 4")));
  ASSERT_TRUE(wait_for([&] { return recorder_of(running) != 0; }));
  EXPECT_EQ(running.out(), "");
  ASSERT_EQ(kill(recorder_of(running), SIGKILL), 0);
  EXPECT_EQ(running.wait(), 4);
  EXPECT_EQ(running.out(), "trained\n");
  EXPECT_THAT(running.err(), HasSubstr("the command runs unrecorded"));
}

// --- the supervisor dies ---

TEST_F(RecordSupervisorTest, TheDeathOfTheSupervisorEndsNeitherCommandNorRecording) {
  pid_t recorder = 0;
  {
    Running running(
        scratch_,
        dprof(record({"-o", "r"}, {"hello", "print=ready", "beats=stop", "ranges=10", "clean"})));
    ASSERT_TRUE(running.wait_for_output("ready"));
    recorder = recorder_of(running);
    running.send(SIGKILL);
    EXPECT_EQ(running.wait(), 128 + SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_FALSE(has_ended(recorder));
    let_go("stop");
    ASSERT_TRUE(wait_for([&] { return has_ended(recorder); }));
    EXPECT_THAT(running.err(), HasSubstr("orphaned"));
  }
  EXPECT_THAT(files_in(run()), UnorderedElementsAre("rank-00000.dprof", "run.json"));
  const Result<TraceReader> trace = TraceReader::open(run() / "rank-00000.dprof");
  ASSERT_TRUE(trace.ok()) << trace.error().what;
  EXPECT_EQ(trace->meta("ended"), "complete");
  EXPECT_GE(*trace->count("host_range"), 10);
}

// No process has said hello yet, nor will for longer than any timeout.
TEST_F(RecordSupervisorTest, AnOrphanWaitsForTheFirstHelloAsLongAsTheCommandLives) {
  Running running(
      scratch_, dprof(shell({"-n", "1", "-o", "r"},
                            "echo ready; while ! [ -e go ]; do sleep 0.05; done; exec " + kWriter +
                                " hello ranges=10 clean")));
  ASSERT_TRUE(running.wait_for_output("[0] ready"));
  const pid_t recorder = recorder_of(running);
  running.send(SIGKILL);
  EXPECT_EQ(running.wait(), 128 + SIGKILL);
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  EXPECT_FALSE(has_ended(recorder));
  let_go("go");
  ASSERT_TRUE(wait_for([&] { return has_ended(recorder); }));
  const Result<TraceReader> trace = TraceReader::open(run() / "rank-00000.dprof");
  ASSERT_TRUE(trace.ok()) << trace.error().what;
  EXPECT_EQ(*trace->count("host_range"), 10);
}

TEST_F(RecordSupervisorTest, AnOrphanLeavesInOrderWhenItIsAsked) {
  Running running(scratch_,
                  dprof(record({"-o", "r"}, {"hello", "ranges=10", "print=ready", "beats=stop"})));
  ASSERT_TRUE(running.wait_for_output("ready"));
  const pid_t recorder = recorder_of(running);
  kill(recorder, SIGTERM);  // its supervisor, while there is one, speaks for all
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  ASSERT_FALSE(has_ended(recorder));
  running.send(SIGKILL);
  EXPECT_EQ(running.wait(), 128 + SIGKILL);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  ASSERT_FALSE(has_ended(recorder)) << "what came before its time counts for nothing";
  kill(recorder, SIGTERM);
  ASSERT_TRUE(wait_for([&] { return has_ended(recorder); }));
  const Result<TraceReader> trace = TraceReader::open(run() / "rank-00000.dprof");
  ASSERT_TRUE(trace.ok()) << trace.error().what;
  EXPECT_EQ(trace->meta("ended"), "left");
  let_go("stop");
  EXPECT_TRUE(wait_for([&] { return running.out().find("beats") != std::string::npos; }));
}

// --- signals ---

// Its parent hands signals on, and can receive one in its first moment.
TEST_F(RecordSupervisorTest, ASignalThatComesWithTheStartIsNoted) {
  const Ended ended = run_dprof(scratch_, shell({"-o", "r"},
                                                "trap 'echo usr1; exit 3' USR1; kill -USR1 $PPID; "
                                                "while true; do sleep 0.02; done"));
  EXPECT_EQ(ended.code, 3);
  EXPECT_EQ(ended.out, "usr1\n");
  EXPECT_THAT(index_of(run()).dump(), HasSubstr("SIGUSR1 after"));
}

TEST_F(RecordSupervisorTest, SignalsDoNotWaitForAStoppedRecorder) {
  Running running(scratch_, dprof(shell({"-o", "r"},
                                        "trap 'echo usr1' USR1; trap 'echo bye; exit 3' TERM; "
                                        "echo ready; while true; do sleep 0.02; done")));
  ASSERT_TRUE(running.wait_for_output("ready"));
  const pid_t recorder = recorder_of(running);
  kill(recorder, SIGSTOP);
  ASSERT_TRUE(wait_for([&] { return is_stopped(recorder); }));
  running.send(SIGUSR1);
  EXPECT_TRUE(running.wait_for_output("usr1"));
  running.send(SIGTERM);
  EXPECT_TRUE(running.wait_for_output("bye"));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  kill(recorder, SIGCONT);
  EXPECT_EQ(running.wait(), 3);
  const std::string written = index_of(run()).dump();
  EXPECT_THAT(written, HasSubstr("SIGUSR1 after"));
  EXPECT_THAT(written, HasSubstr("SIGTERM after"));
  EXPECT_THAT(written, HasSubstr("by process " + std::to_string(getpid())));
}

// Like Ctrl-Z and `fg`: to the whole group.
TEST_F(RecordSupervisorTest, JobControlStopsAllAndContinuesAll) {
  Running running(
      scratch_,
      dprof(record({"-n", "1", "-o", "r"}, {"hello", "print=ready", "beats=stop", "clean"})),
      Running::Group::kOwn);
  ASSERT_TRUE(running.wait_for_output("ready"));
  const std::vector<pid_t> children = children_of(running.pid());
  ASSERT_EQ(children.size(), 3u) << "the recorder, the rank, who carries its output";
  kill(-running.pid(), SIGTSTP);
  int status = 0;
  ASSERT_EQ(waitpid(running.pid(), &status, WUNTRACED), running.pid());
  EXPECT_TRUE(WIFSTOPPED(status)) << "a shell sees it";
  for (const pid_t child : children) {
    EXPECT_TRUE(wait_for([&] { return is_stopped(child); })) << child;
  }
  kill(-running.pid(), SIGCONT);
  for (const pid_t child : children) {
    EXPECT_TRUE(wait_for([&] { return !is_stopped(child); })) << child;
  }
  let_go("stop");
  EXPECT_EQ(running.wait(), 0) << running.err();
  EXPECT_THAT(running.out(), HasSubstr("beats"));
  EXPECT_THAT(running.err(), HasSubstr(", 0 lost"));
}

// --- what the recorder learns about the command's processes ---

// The shell's child outlives its parent, so the supervisor inherits it.
TEST_F(RecordSupervisorTest, HowOrphansOfTheCommandEndedIsKnown) {
  const Ended ended = run_dprof(
      scratch_, shell({"-o", "r"}, "(RANK=0 WORLD_SIZE=1 exec " + kWriter +
                                       " hello ranges=5 sleep=700 signal=9) & sleep 0.2"));
  EXPECT_EQ(ended.code, 0) << ended.err;
  const Result<TraceReader> trace = TraceReader::open(run() / "rank-00000.dprof");
  ASSERT_TRUE(trace.ok()) << trace.error().what;
  EXPECT_EQ(trace->meta("exit_status"), "signal:9");
}

// The supervisor cannot answer: the recording does not wait for it forever.
TEST_F(RecordSupervisorTest, AStoppedSupervisorHoldsNoTraceUp) {
  Running running(scratch_,
                  dprof(record({"-n", "1", "-o", "r"},
                               {"hello", "ranges=5", "print=ready", "beats=stop", "clean"})));
  ASSERT_TRUE(running.wait_for_output("[0] ready"));
  // The recorder knows of the start.
  ASSERT_TRUE(wait_for([&] {
    return std::ranges::any_of(files_in(run()),
                               [](const std::string& name) { return name.ends_with(".dprof"); });
  }));
  running.send(SIGSTOP);
  let_go("stop");
  EXPECT_TRUE(wait_for([&] { return fs::exists(run() / "rank-00000.dprof"); }));
  running.send(SIGCONT);
  EXPECT_EQ(running.wait(), 0) << running.err();
  EXPECT_THAT(files_in(run()), Contains("run.json"));
}

}  // namespace
}  // namespace dprof::cli
