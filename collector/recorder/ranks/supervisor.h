// SPDX-License-Identifier: Apache-2.0
// The process that the user started is small and does little: it is the parent of the command and
// of the process that records it, waits for both, and forwards signals and exit codes. So the death
// of the recorder ends neither the command nor the process waiting for it (a Slurm step, a
// container), and the supervisor's own death ends neither of the two.
//
// They communicate over a pair of sockets, whose end of file shows that the other has died. Sending
// never waits: the other may be stopped.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collector/recorder/ranks/environment.h"
#include "collector/recorder/ranks/launcher.h"
#include "collector/recorder/ranks/server.h"
#include "collector/recorder/ranks/signals.h"

namespace dprof::recorder {

// Packets to and from the other process, in order; packets that it does not accept wait here.
//
// Threading  one thread.
class Channel {
 public:
  enum class Kind : uint32_t {
    // To the supervisor:
    kEnvironment,   // a part of the command's environment, NAME=value each ended by a NUL
    kStart,         // it is complete
    kAsk,           // how did process `pid` end?
    kFinishOutput,  // of the ranks
    // To the recorder:
    kStarted,         // process `pid` of the command
    kAllStarted,      // and these are all; or:
    kNotStarted,      // `value`: Code; text: what, NUL, hint
    kSignal,          // `value` came from process `pid`; `flag`: from the terminal
    kEnding,          // process `pid`; `flag`: it is known, `value`: the status of wait()
    kRankEnded,       // process `pid` of rank `flag` ended; `value`: the status of wait()
    kOver,            // all processes of the command have ended; `value`: its exit code
    kOutputFinished,  // `value`: how often its carrier was started again
  };
  struct Message {
    Kind kind{};
    int32_t pid = 0;
    int32_t value = 0;
    int32_t flag = 0;
    int64_t time_ns = 0;  // of the steady clock
  };
  struct Packet {
    Message message;
    std::string text;
  };
  static constexpr size_t kMaxText = 16384;

  explicit Channel(Descriptor socket) : socket_(std::move(socket)) {}

  // Never waits.
  void send(const Message& message, std::string_view text = {});
  void flush();
  // nullopt: no packet now, or none ever again (gone()).
  std::optional<Packet> receive();
  // The other process has died, or has finished sending.
  [[nodiscard]] bool gone() const { return !socket_.valid(); }
  [[nodiscard]] int descriptor() const { return socket_.get(); }
  // The events to poll for.
  [[nodiscard]] short events() const;

 private:
  Descriptor socket_;
  std::deque<std::string> waiting_;
};

// A signal that reached the supervisor, which has forwarded it, or an orphaned recorder.
struct SignalSeen {
  int signal = 0;
  int sender = 0;  // its process
  bool from_terminal = false;
  bool to_the_recorder = false;
  std::chrono::steady_clock::time_point when;
};

// The command as the recorder sees it: through its supervisor or, if that dies, through the
// processes that it knows.
//
// Threading  one thread.
class Command {
 public:
  using Steady = std::chrono::steady_clock;
  // The supervisor's time limit for reporting how a process ended.
  static constexpr std::chrono::seconds kAnswerWithin{1};
  // The time an orphan that knows no process of the command waits for one to say hello.
  static constexpr std::chrono::seconds kPatience{60};

  Command(Descriptor socket, const Signals& own, const KeptOutput& kept)
      : channel_(std::move(socket)), own_(own), kept_(kept) {}

  // Like Launcher::start().
  Status start(const Environment& environment);

  // Reads the supervisor's messages; call when one of descriptors() is ready.
  void receive();
  // The next received signal, in order.
  std::optional<SignalSeen> next_signal();
  [[nodiscard]] bool running() const;
  // A process said hello. An orphan that knows none takes the first one as the command's.
  void meet(pid_t pid);
  [[nodiscard]] bool is_orphan() const { return channel_.gone(); }
  // The end of a process; inner nullopt: not available. Outer nullopt: not known yet, ask again.
  using Ending = std::optional<ExitStatus>;
  std::optional<Ending> ending_of(pid_t pid);
  // After the command's end: the rest of the ranks' output is carried.
  void finish_output();
  // After that: the last standard error of `rank` of -n; "" = not known, or not kept.
  [[nodiscard]] std::string last_output(int rank) const { return kept_.last_lines(rank); }
  // With -n: the ranks whose process has ended, and how.
  [[nodiscard]] const std::vector<RankEnd>& rank_ends() const { return rank_ends_; }
  // Waits, at most until then, for anything to receive.
  void wait(std::chrono::milliseconds at_most) const;

  // To poll for input.
  [[nodiscard]] std::vector<int> descriptors() const;
  // After the end: 0, or the code of the first rank that failed.
  [[nodiscard]] int exit_code() const { return exit_code_; }
  // After finish_output(): how often the carrier of the ranks' output was restarted.
  [[nodiscard]] int revivals() const { return revivals_; }

 private:
  void hear(const Channel::Packet& packet);
  void watch(pid_t pid);
  void wait_for(const bool& answered);

  Channel channel_;
  const Signals& own_;
  const KeptOutput& kept_;
  std::vector<RankEnd> rank_ends_;
  std::vector<Descriptor> processes_;  // pidfds of the command's processes
  std::deque<SignalSeen> signals_;
  std::map<pid_t, Steady::time_point> asked_;
  std::map<pid_t, Ending> endings_;
  std::optional<Error> refusal_;
  std::optional<Steady::time_point> orphan_since_;
  bool start_answered_ = false;
  bool is_over_ = false;
  bool output_finished_ = false;
  int exit_code_ = 0;
  int revivals_ = 0;
};

struct Supervision {
  LaunchOptions launch;
  std::string clear;  // see OutputLines
  int kept_lines = KeptOutput::kLines;
  std::function<void(const std::string&)> say;
};

// Returns twice, in two processes: `record` runs in a child, and its result is returned there; in
// the caller's process the result is the child's exit code if that represents the command (record()
// saw its end, or refuses to start it), else the command's own code, 5 instead of 0. Without a
// child, or if it dies before it has started the command, the command runs unrecorded.
//
// Threading  call it from the main thread before other threads exist.
Result<int> supervise(const Supervision& how, const std::function<Result<int>(Command&)>& record);

}  // namespace dprof::recorder
