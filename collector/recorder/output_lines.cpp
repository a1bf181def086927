// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/output_lines.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
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

OutputLines::OutputLines(std::function<void()> before, std::function<void()> after)
    : before_(std::move(before)), after_(std::move(after)) {}

OutputLines::~OutputLines() {
  finish();
  for (const Pipe& pipe : pipes_) {
    if (pipe.fd >= 0) close(pipe.fd);
  }
  if (wake_fd_ >= 0) close(wake_fd_);
}

Result<int> OutputLines::add(std::string prefix, int to_fd) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return fail(Code::kIo, fmt::format("cannot make a pipe: {}", std::strerror(errno)),
                "raise the limit of open files (ulimit -n)");
  }
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  pipes_.push_back({ends[0], to_fd, LinePrefixer(std::move(prefix))});
  return ends[1];
}

Status OutputLines::start() {
  wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd_ < 0) return fail(Code::kIo, "cannot make an event descriptor");
  thread_ = std::thread([this] { run(); });
  return Done{};
}

void OutputLines::finish() {
  if (!thread_.joinable()) return;
  ending_.store(true, std::memory_order_release);
  eventfd_write(wake_fd_, 1);
  thread_.join();
}

void OutputLines::locked(const std::function<void()>& write) {
  const std::lock_guard lock(mutex_);
  write();
}

void OutputLines::run() {
  size_t open = pipes_.size();
  while (open != 0) {
    // Asked before the pipes are read: what was written before finish() is there by then.
    const bool last_time = ending_.load(std::memory_order_acquire);
    std::vector<pollfd> polled{{wake_fd_, POLLIN, 0}};
    for (const Pipe& pipe : pipes_) polled.push_back({pipe.fd, POLLIN, 0});
    if (!last_time) poll(polled.data(), polled.size(), -1);
    for (Pipe& pipe : pipes_) {
      if (pipe.fd < 0 || carry(pipe)) continue;
      close(pipe.fd);
      pipe.fd = -1;
      --open;
    }
    if (last_time) break;
  }
  for (Pipe& pipe : pipes_) write_all(pipe.to_fd, pipe.lines.rest());
}

// Reads what is there now, up to a bound that lets the other pipes have their turn; false at the end
// of the stream.
bool OutputLines::carry(Pipe& pipe) {
  constexpr int kReads = 64;  // 1 MiB: more than a pipe holds
  char bytes[16384];
  for (int i = 0; i < kReads; ++i) {
    const ssize_t got = read(pipe.fd, bytes, sizeof bytes);
    if (got == 0) return false;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    write_all(pipe.to_fd, pipe.lines.add({bytes, static_cast<size_t>(got)}));
  }
  return true;
}

void OutputLines::write_all(int fd, std::string_view text) {
  if (text.empty() || closed_[fd]) return;
  const std::lock_guard lock(mutex_);
  before_();
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
  after_();
}

}  // namespace dprof::recorder
