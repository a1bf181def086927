// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/ranks/supervisor.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/exit_code.h"
#include "collector/recorder/common/open_files.h"

namespace dprof::recorder {
namespace {

using Kind = Channel::Kind;
using Steady = std::chrono::steady_clock;

int64_t now_ns() { return Steady::now().time_since_epoch().count(); }

bool ready(int fd) {
  pollfd polled{fd, POLLIN, 0};
  return poll(&polled, 1, 0) > 0;
}

}  // namespace

// --- the channel ---

void Channel::send(const Message& message, std::string_view text) {
  if (gone()) return;
  std::string packet(sizeof message, '\0');
  std::memcpy(packet.data(), &message, sizeof message);
  packet += text;
  waiting_.push_back(std::move(packet));
  flush();
}

// receive() notices a dead peer, once everything it sent has been read.
void Channel::flush() {
  while (!waiting_.empty() && !gone()) {
    const std::string& packet = waiting_.front();
    if (::send(socket_.get(), packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
      if (errno == EINTR) continue;
      if (errno == EPIPE || errno == ECONNRESET) waiting_.clear();
      return;
    }
    waiting_.pop_front();
  }
}

std::optional<Channel::Packet> Channel::receive() {
  char bytes[sizeof(Message) + kMaxText];
  while (!gone()) {
    const ssize_t got = recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return std::nullopt;
    if (got < static_cast<ssize_t>(sizeof(Message))) {
      socket_ = Descriptor();
      break;
    }
    Packet packet;
    std::memcpy(&packet.message, bytes, sizeof packet.message);
    packet.text.assign(bytes + sizeof(Message), static_cast<size_t>(got) - sizeof(Message));
    return packet;
  }
  return std::nullopt;
}

short Channel::events() const {
  return static_cast<short>(waiting_.empty() ? POLLIN : POLLIN | POLLOUT);
}

// --- the recorder's side ---

Status Command::start(const Environment& environment) {
  std::string all;
  for (const std::string& entry : environment.entries()) (all += entry) += '\0';
  for (size_t at = 0; at < all.size(); at += Channel::kMaxText) {
    channel_.send({.kind = Kind::kEnvironment},
                  std::string_view(all).substr(at, Channel::kMaxText));
  }
  channel_.send({.kind = Kind::kStart});
  wait_for(start_answered_);
  if (refusal_) return fail(*refusal_);
  return Done{};
}

void Command::wait_for(const bool& answered) {
  for (receive(); !answered && !is_orphan(); receive()) wait(std::chrono::hours(1));
}

void Command::wait(std::chrono::milliseconds at_most) const {
  std::vector<pollfd> polled{{own_.fd(), POLLIN, 0}};
  if (!is_orphan()) polled.push_back({channel_.descriptor(), channel_.events(), 0});
  poll(polled.data(), polled.size(), static_cast<int>(at_most.count()));
}

void Command::receive() {
  channel_.flush();
  while (const std::optional<Channel::Packet> packet = channel_.receive()) hear(*packet);
  if (is_orphan() && !orphan_since_) orphan_since_ = Steady::now();
  // The supervisor forwards what a terminal sends to all, or Slurm to each process of a step.
  while (const std::optional<signalfd_siginfo> info = own_.next()) {
    if (!is_orphan() || info->ssi_signo == SIGCHLD) continue;
    signals_.push_back({static_cast<int>(info->ssi_signo), static_cast<int>(info->ssi_pid),
                        info->ssi_code == SI_KERNEL, true, Steady::now()});
  }
}

void Command::hear(const Channel::Packet& packet) {
  const Channel::Message& message = packet.message;
  switch (message.kind) {
    case Kind::kStarted:
      watch(message.pid);
      break;
    case Kind::kAllStarted:
      start_answered_ = true;
      break;
    case Kind::kNotStarted: {
      const size_t end = packet.text.find('\0');
      refusal_ = Error{static_cast<Code>(message.value), packet.text.substr(0, end),
                       end == std::string::npos ? std::string() : packet.text.substr(end + 1)};
      start_answered_ = true;
      break;
    }
    case Kind::kSignal:
      signals_.push_back({message.value, message.pid, message.flag != 0, false,
                          Steady::time_point(Steady::duration(message.time_ns))});
      break;
    case Kind::kEnding:
      endings_[message.pid] =
          message.flag != 0 ? Ending(ExitStatus{message.value}) : Ending(std::nullopt);
      break;
    case Kind::kRankEnded:
      rank_ends_.push_back({message.flag,
                            message.pid,
                            {message.value},
                            Steady::time_point(Steady::duration(message.time_ns))});
      break;
    case Kind::kOver:
      is_over_ = true;
      exit_code_ = message.value;
      break;
    case Kind::kOutputFinished:
      output_finished_ = true;
      revivals_ = message.value;
      break;
    default:
      break;
  }
}

void Command::watch(pid_t pid) {
  processes_.emplace_back(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

void Command::meet(pid_t pid) {
  if (is_orphan() && processes_.empty()) watch(pid);
}

std::optional<SignalSeen> Command::next_signal() {
  if (signals_.empty()) return std::nullopt;
  const SignalSeen first = signals_.front();
  signals_.pop_front();
  return first;
}

bool Command::running() const {
  if (is_over_) return false;
  if (!is_orphan()) return true;
  if (processes_.empty()) return Steady::now() < *orphan_since_ + kPatience;
  return std::ranges::any_of(processes_, [](const Descriptor& process) {
    return process.valid() && !ready(process.get());
  });
}

std::optional<Command::Ending> Command::ending_of(pid_t pid) {
  receive();
  const auto [asked, is_new] = asked_.try_emplace(pid, Steady::now());
  if (is_new) channel_.send({.kind = Kind::kAsk, .pid = pid});
  const auto found = endings_.find(pid);
  if (found == endings_.end() && !is_orphan() && Steady::now() < asked->second + kAnswerWithin) {
    return std::nullopt;
  }
  const Ending ending = found == endings_.end() ? std::nullopt : found->second;
  endings_.erase(pid);
  asked_.erase(asked);
  return ending;
}

void Command::finish_output() {
  channel_.send({.kind = Kind::kFinishOutput});
  wait_for(output_finished_);
}

std::vector<int> Command::descriptors() const {
  std::vector<int> all{own_.fd()};
  if (!is_orphan()) all.push_back(channel_.descriptor());
  return all;
}

// --- the supervisor ---

namespace {

class Supervisor {
 public:
  Supervisor(const Supervision& how, const Signals& signals, KeptOutput& kept, Descriptor socket,
             pid_t recorder)
      : how_(how),
        signals_(signals),
        channel_(std::move(socket)),
        recorder_(recorder),
        output_(how.clear, kept),
        launcher_(how.launch, output_) {}

  Result<int> run() {
    const RaisedFileLimit many_files;
    // Orphans among our descendants become our children, so that their exit status is known.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (recorder_ == 0) start_unrecorded("no process can be made to record it");
    while (!failure_ && (recorder_ != 0 || launcher_.running())) {
      wait();
      while (const std::optional<signalfd_siginfo> info = signals_.next()) on_signal(*info);
      launcher_.reap();
      hear();
      launcher_.enforce(Steady::now());
      report_ends();
      const std::optional<ExitStatus> end = launcher_.status(recorder_);
      if (recorder_ == 0 || !end) continue;
      recorder_ = 0;
      if (speaks_for_the_command(*end)) return end->code();
      outlive(*end);
    }
    if (failure_) return fail(*failure_);
    output_.finish();
    const int code = launcher_.exit_code();
    return code != 0 ? code : static_cast<int>(ExitCode::kSomethingLost);
  }

 private:
  void wait() const {
    auto at_most = std::chrono::milliseconds(1000);
    if (const auto deadline = launcher_.deadline()) {
      at_most = std::clamp(
          std::chrono::duration_cast<std::chrono::milliseconds>(*deadline - Steady::now()) +
              std::chrono::milliseconds(1),
          std::chrono::milliseconds(0), at_most);
    }
    std::vector<pollfd> polled{{signals_.fd(), POLLIN, 0}};
    if (!channel_.gone()) polled.push_back({channel_.descriptor(), channel_.events(), 0});
    poll(polled.data(), polled.size(), static_cast<int>(at_most.count()));
  }

  void on_signal(const signalfd_siginfo& info) {
    if (info.ssi_signo == SIGCHLD) return;
    if (is_asked_ || recorder_ == 0) return hand_on(info, info.ssi_code == SI_KERNEL);
    early_.push_back(info);  // for the command, which is not started yet
  }

  // A terminal sends its signals to the whole foreground group: the command has them already.
  void hand_on(const signalfd_siginfo& info, bool has_it) {
    constexpr int kMostReported = 1024;  // to a recorder that may be stopped
    const auto signal = static_cast<int>(info.ssi_signo);
    if (!has_it) launcher_.forward(signal);
    if (signal != SIGWINCH && (signal == SIGINT || ++reported_ <= kMostReported)) {
      channel_.send({.kind = Kind::kSignal,
                     .pid = static_cast<int32_t>(info.ssi_pid),
                     .value = signal,
                     .flag = info.ssi_code == SI_KERNEL ? 1 : 0,
                     .time_ns = now_ns()});
    }
    // The user is impatient: no grace.
    if (signal == SIGINT && ++interrupts_ == 2 && how_.launch.ranks) launcher_.forward(SIGKILL);
  }

  void hear() {
    channel_.flush();
    while (const std::optional<Channel::Packet> packet = channel_.receive()) {
      const Channel::Message& message = packet->message;
      if (message.kind == Kind::kEnvironment) environment_ += packet->text;
      if (message.kind == Kind::kStart) start_recorded();
      if (message.kind == Kind::kAsk) answer(message.pid);
      if (message.kind == Kind::kFinishOutput) {
        output_.finish();
        channel_.send({.kind = Kind::kOutputFinished, .value = launcher_.revivals()});
      }
    }
  }

  void start_recorded() {
    Environment environment;
    for (std::string_view rest = environment_; !rest.empty();) {
      const std::string_view entry = rest.substr(0, rest.find('\0'));
      rest.remove_prefix(entry.size() + 1);
      const size_t equals = entry.find('=');
      environment.set(std::string(entry.substr(0, equals)), std::string(entry.substr(equals + 1)));
    }
    is_asked_ = true;
    const Status started = launcher_.start(environment);
    for (const pid_t pid : launcher_.pids()) channel_.send({.kind = Kind::kStarted, .pid = pid});
    if (started.ok()) {
      channel_.send({.kind = Kind::kAllStarted});
    } else {
      start_failed_ = true;
      const Error& why = started.error();
      channel_.send({.kind = Kind::kNotStarted, .value = static_cast<int32_t>(why.code)},
                    (why.what + '\0' + why.hint).substr(0, Channel::kMaxText));
    }
    hand_on_early();
  }

  void hand_on_early() {
    for (const signalfd_siginfo& info : std::exchange(early_, {})) hand_on(info, false);
  }

  void answer(pid_t pid) {
    launcher_.reap();
    const std::optional<ExitStatus> status = launcher_.status(pid);
    channel_.send({.kind = Kind::kEnding,
                   .pid = pid,
                   .value = status ? status->wait_status : 0,
                   .flag = status ? 1 : 0});
  }

  void report_ends() {
    for (const RankEnd& end : launcher_.take_rank_ends()) {
      if (!how_.launch.ranks) continue;
      channel_.send({.kind = Kind::kRankEnded,
                     .pid = end.pid,
                     .value = end.status.wait_status,
                     .flag = end.rank,
                     .time_ns = end.when.time_since_epoch().count()});
    }
    if (!is_asked_ || launcher_.running() || std::exchange(is_over_, true)) return;
    channel_.send({.kind = Kind::kOver, .value = launcher_.exit_code()});
  }

  [[nodiscard]] bool speaks_for_the_command(ExitStatus end) const {
    if (!WIFEXITED(end.wait_status)) return false;
    if (!is_asked_) return end.code() == static_cast<int>(ExitCode::kUsage);
    return start_failed_ || !launcher_.running() || interrupts_ > 1;
  }

  void outlive(ExitStatus end) {
    const std::string why = fmt::format("the recorder ended ({})", end.text());
    if (!is_asked_) return start_unrecorded(why);
    how_.say(fmt::format("{}; {}`dprof recover RUN` finishes the traces", how_.clear + why,
                         launcher_.running() ? "the command continues. " : ""));
  }

  void start_unrecorded(const std::string& why) {
    how_.say(why + "; the command runs unrecorded");
    is_asked_ = true;
    if (const Status started = launcher_.start(Environment::current()); !started.ok()) {
      failure_ = started.error();
    }
    hand_on_early();
  }

  const Supervision& how_;
  const Signals& signals_;
  Channel channel_;
  pid_t recorder_;  // 0: it has ended
  OutputLines output_;
  Launcher launcher_;
  std::string environment_;  // as received so far
  std::vector<signalfd_siginfo> early_;
  bool is_asked_ = false;      // to start the command
  bool start_failed_ = false;  // and the recorder has been informed
  bool is_over_ = false;       // this, too
  int interrupts_ = 0;
  int reported_ = 0;
  std::optional<Error> failure_;
};

}  // namespace

Result<int> supervise(const Supervision& how, const std::function<Result<int>(Command&)>& record) {
  const Signals signals;
  KeptOutput kept(how.launch.ranks.value_or(0), how.kept_lines);
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return Supervisor(how, signals, kept, Descriptor(), 0).run();
  }
  Descriptor supervisors(ends[0]), recorders(ends[1]);
  const pid_t recorder = fork();
  if (recorder == 0) {
    supervisors = Descriptor();
    prctl(PR_SET_NAME, "dprof-recorder");
    Command command(std::move(recorders), signals, kept);
    return record(command);
  }
  recorders = Descriptor();
  return Supervisor(how, signals, kept, std::move(supervisors), std::max<pid_t>(recorder, 0)).run();
}

}  // namespace dprof::recorder
