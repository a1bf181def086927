// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/ranks/output_lines.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace dprof::recorder {

std::string LinePrefixer::add(std::string_view bytes) {
  std::string lines;
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    begun_ += part;
    if (end == std::string_view::npos) break;
    lines += prefix_ + begun_ + '\n';
    begun_.clear();
    bytes.remove_prefix(end + 1);
  }
  if (begun_.size() >= kMaxLine) lines += rest();
  return lines;
}

std::string LinePrefixer::rest() {
  if (begun_.empty()) return {};
  std::string line = prefix_ + begun_ + '\n';
  begun_.clear();
  return line;
}

OutputLines::~OutputLines() {
  finish();
  for (const Pipe& pipe : pipes_) close(pipe.fd);
  if (ending_fd_ >= 0) close(ending_fd_);
}

Result<int> OutputLines::add(int rank, int to_fd) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return fail(Code::kIo, fmt::format("cannot make a pipe: {}", std::strerror(errno)),
                "raise the limit of open files (ulimit -n)");
  }
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  pipes_.push_back({ends[0], rank, to_fd, LinePrefixer(fmt::format("[{}] ", rank))});
  return ends[1];
}

Status OutputLines::start() {
  ending_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (ending_fd_ < 0) return fail(Code::kIo, "cannot make an event descriptor");
  carrier_ = fork();
  if (carrier_ < 0) {
    return fail(Code::kIo, fmt::format("cannot fork: {}", std::strerror(errno)),
                "raise the limit of processes (ulimit -u)");
  }
  if (carrier_ == 0) run();
  return Done{};
}

void OutputLines::revive() {
  carrier_ = fork();
  if (carrier_ == 0) run();
}

void OutputLines::finish() {
  if (carrier_ <= 0) return;
  eventfd_write(ending_fd_, 1);
  // ECHILD: the launcher has collected it already.
  while (waitpid(carrier_, nullptr, 0) < 0 && errno == EINTR) {
  }
  carrier_ = 0;
}

// In the carrier. The recorder has blocked the signals that a terminal or a launcher sends to the
// whole group, and the carrier keeps them blocked: it ends when the pipes do.
void OutputLines::run() {
  prctl(PR_SET_NAME, "dprof-output");
  signal(SIGHUP, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  close_all_but_pipes();
  size_t open = pipes_.size();
  for (bool last_time = false; open != 0 && !last_time;) {
    std::vector<pollfd> polled{{ending_fd_, POLLIN, 0}};
    for (const Pipe& pipe : pipes_) polled.push_back({pipe.fd, POLLIN, 0});
    poll(polled.data(), polled.size(), -1);
    // Checked before the pipes are read: output written before finish() has arrived by then.
    last_time = (polled[0].revents & POLLIN) != 0;
    for (Pipe& pipe : pipes_) {
      if (pipe.fd < 0 || carry(pipe)) continue;
      close(pipe.fd);
      pipe.fd = -1;
      --open;
    }
  }
  for (Pipe& pipe : pipes_) write_all(pipe.to_fd, pipe.lines.rest());
  _exit(0);
}

// Including the recorder's socket: a rank must not find it open when the recorder is gone.
void OutputLines::close_all_but_pipes() const {
  std::vector<int> kept{STDERR_FILENO, ending_fd_};
  for (const Pipe& pipe : pipes_) kept.push_back(pipe.fd);
  std::ranges::sort(kept);
  for (size_t i = 0; i < kept.size(); ++i) {
    const auto first = static_cast<unsigned>(kept[i]) + 1;
    const unsigned last = i + 1 < kept.size() ? static_cast<unsigned>(kept[i + 1]) - 1 : ~0u;
    if (first <= last) close_range(first, last, 0);
  }
}

// Reads available output, up to a bound that gives the other pipes their turn; false at the end of
// the stream.
bool OutputLines::carry(Pipe& pipe) {
  constexpr int kReads = 64;  // 1 MiB: more than a pipe holds
  char bytes[16384];
  for (int i = 0; i < kReads; ++i) {
    const ssize_t got = read(pipe.fd, bytes, sizeof bytes);
    if (got == 0) return false;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    const std::string_view text(bytes, static_cast<size_t>(got));
    if (pipe.to_fd == STDERR_FILENO) kept_.add(pipe.rank, text);
    write_all(pipe.to_fd, pipe.lines.add(text));
  }
  return true;
}

void OutputLines::write_all(int fd, std::string_view text) {
  if (text.empty() || closed_[fd]) return;
  if (!clear_.empty()) static_cast<void>(!write(STDERR_FILENO, clear_.data(), clear_.size()));
  while (!text.empty()) {
    const ssize_t put = write(fd, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) {
      pollfd ready{fd, POLLOUT, 0};
      poll(&ready, 1, -1);
      continue;
    }
    if (put < 0) {
      closed_[fd] = true;
      break;
    }
    text.remove_prefix(static_cast<size_t>(put));
  }
}

}  // namespace dprof::recorder
