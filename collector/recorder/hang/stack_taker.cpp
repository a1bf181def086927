// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/hang/stack_taker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

#include "collector/recorder/hang/native_stacks.h"
#include "collector/recorder/hang/python_stacks.h"

namespace dprof::recorder {
namespace {

constexpr std::chrono::milliseconds kPythonPatience{1000};
constexpr size_t kMostBytes = size_t{64} << 20;

// --- in the child: one line for each frame, its fields between tabs ---

std::string field(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\t' || c == '\n'; }, ' ');
  return text;
}

void say(int fd, const std::string& line) {
  for (size_t done = 0; done < line.size();) {
    const ssize_t wrote = write(fd, line.data() + done, line.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) _exit(1);
    done += static_cast<size_t>(wrote);
  }
}

void say_stack(int fd, int pid, schema::StackKind kind, const ThreadStack& stack) {
  for (size_t i = 0; i < stack.frames.size(); ++i) {
    const StackEntry& entry = stack.frames[i];
    say(fd, fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", pid, static_cast<int>(kind),
                        stack.os_tid, field(stack.name), i, field(entry.function),
                        field(entry.file), entry.line.value_or(0)));
  }
}

// A tracer resends the SIGSTOP of a stopped process when it detaches, possibly after another
// process's SIGCONT.
bool is_stopped(int pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  const size_t end_of_name = text.rfind(") ");
  return end_of_name != std::string::npos && text.substr(end_of_name + 2, 1) == "T";
}

void take(int fd, const StackSubject& subject) {
  const int pid = subject.pid;
  if (is_stopped(pid)) {
    say(fd, fmt::format("{}\t0\tit is stopped, and left alone\n", pid));
    return;
  }
  std::map<uint64_t, std::pair<int64_t, std::string>> threads;  // by pthread_self()
  const auto on_native = [&](const ThreadStack& stack) {
    threads[stack.pthread] = {stack.os_tid, stack.name};
    say_stack(fd, pid, schema::StackKind::kNative, stack);
  };
  std::string problem = take_native_stacks(pid, on_native);
  PythonStacks python = take_python_stacks(pid, subject.python_file, kPythonPatience);
  for (ThreadStack& stack : python.threads) {
    if (const auto known = threads.find(stack.pthread); known != threads.end()) {
      stack.os_tid = known->second.first;
      stack.name = known->second.second;
    } else if (threads.empty() && stack.answers) {
      stack.os_tid = pid;
    }
    say_stack(fd, pid, schema::StackKind::kPython, stack);
  }
  if (!python.problem.empty())
    problem += fmt::format("{}Python's: {}", problem.empty() ? "" : "; ", python.problem);
  say(fd, fmt::format("{}\t0\t{}\n", pid, field(problem)));
}

// It has this process's memory, but none of its threads.
[[noreturn]] void run_child(int fd, const std::vector<StackSubject>& subjects) {
  prctl(PR_SET_NAME, "dprof-stacks");
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The end of the recorder's sockets signals its death to others.
  constexpr int kOutput = 3;
  dup2(fd, kOutput);
  syscall(SYS_close_range, kOutput + 1, ~0U, 0);
  for (const StackSubject& subject : subjects) take(kOutput, subject);
  _exit(0);
}

int64_t number_of(std::string_view text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

StackTaker::StackTaker(std::vector<StackSubject> subjects, int64_t now_ns)
    : subjects_(std::move(subjects)), now_ns_(now_ns) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    finish();
    return;
  }
  output_ = Descriptor(ends[0]);
  const Descriptor writes(ends[1]);
  fcntl(ends[1], F_SETFL, 0);  // the child may wait
  child_ = fork();
  if (child_ == 0) run_child(ends[1], subjects_);
  if (child_ < 0) finish();
}

StackTaker::~StackTaker() { finish(); }

bool StackTaker::receive() {
  char bytes[1 << 16];
  while (child_ > 0) {
    const ssize_t got = read(output_.get(), bytes, sizeof bytes);
    if (got > 0) {
      unread_.append(bytes, static_cast<size_t>(got));
      size_t begin = 0;
      for (size_t end; (end = unread_.find('\n', begin)) != std::string::npos; begin = end + 1)
        hear(std::string_view(unread_).substr(begin, end - begin));
      unread_.erase(0, begin);
      if (unread_.size() < kMostBytes) continue;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN && Steady::now() < until_) return false;
    finish();
  }
  return true;
}

void StackTaker::finish() {
  if (child_ > 0) {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  child_ = 0;
  for (const StackSubject& subject : subjects_) {
    Taken& taken = taken_[subject.pid];
    if (taken.complete || !taken.problem.empty()) continue;
    taken.problem = fmt::format("there was not enough time within {} s", kLimit.count());
  }
}

void StackTaker::hear(std::string_view line) {
  constexpr size_t kFields = 8;
  std::array<std::string_view, kFields> fields;
  size_t count = 0;
  while (count < kFields) {
    const size_t end = line.find('\t');
    fields[count++] = line.substr(0, end);
    if (end == std::string_view::npos) break;
    line.remove_prefix(end + 1);
  }
  Taken& taken = taken_[static_cast<int>(number_of(fields[0]))];
  const int64_t kind = number_of(fields[1]);
  if (kind == 0) {
    taken.problem = fields[2];
    taken.complete = true;
    return;
  }
  if (count != kFields) return;
  TakenFrame frame{.time_ns = now_ns_,
                   .os_tid = std::nullopt,
                   .thread = std::string(fields[3]),
                   .kind = static_cast<schema::StackKind>(kind),
                   .frame = number_of(fields[4]),
                   .function = std::string(fields[5]),
                   .file = std::string(fields[6]),
                   .line = std::nullopt};
  if (const int64_t tid = number_of(fields[2]); tid != 0) frame.os_tid = tid;
  if (const int64_t number = number_of(fields[7]); number != 0) frame.line = number;
  taken.frames.push_back(std::move(frame));
}

}  // namespace dprof::recorder
