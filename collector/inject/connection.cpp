// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace dprof::inject {
namespace {

constexpr int kHighDescriptor = 1000;  // out of the way of programs that expect low numbers

// Moves the socket to a high number if the limit allows.
int moved_up(int descriptor) noexcept {
  rlimit limit{};
  int lowest = kHighDescriptor;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < kHighDescriptor + 1) {
    lowest = limit.rlim_cur > 16 ? static_cast<int>(limit.rlim_cur) - 8 : 3;
  }
  const int high = fcntl(descriptor, F_DUPFD_CLOEXEC, lowest);
  if (high < 0) return descriptor;
  ::close(descriptor);
  return high;
}

}  // namespace

Connection::Connect Connection::connect(const char* path) noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const size_t length = strlen(path);
  if (length == 0 || length >= sizeof address.sun_path) return Connect::kRefused;
  memcpy(address.sun_path, path, length);
  if (descriptor_ < 0) {
    const int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0) return Connect::kRefused;
    descriptor_ = moved_up(made);
    struct stat status {};
    if (fstat(descriptor_, &status) == 0) {
      device_ = status.st_dev;
      inode_ = status.st_ino;
    }
  }
  if (!still_ours()) return Connect::kRefused;
  if (::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return Connect::kDone;
  }
  if (errno == EAGAIN || errno == EINTR) return Connect::kBusy;
  close();
  return Connect::kRefused;
}

bool Connection::send_hello(const void* packet, uint32_t bytes, int descriptor) noexcept {
  if (!still_ours()) return false;
  iovec part{const_cast<void*>(packet), bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
  }
  ssize_t sent = -1;
  do {
    sent = sendmsg(descriptor_, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(bytes);
}

Connection::Peer Connection::peer() const noexcept {
  if (!still_ours()) return Peer::kUnknown;
  pollfd watch{descriptor_, POLLIN | POLLRDHUP, 0};
  if (poll(&watch, 1, 0) <= 0) return Peer::kThere;
  if ((watch.revents & (POLLHUP | POLLRDHUP | POLLERR)) == 0) return Peer::kThere;
  // Another owner may have taken the number between the two calls: then the hang-up was not our
  // peer's.
  return still_ours() ? Peer::kGone : Peer::kUnknown;
}

void Connection::close() noexcept {
  if (still_ours()) ::close(descriptor_);
  descriptor_ = -1;
}

bool Connection::still_ours() const noexcept {
  struct stat status {};
  return descriptor_ >= 0 && fstat(descriptor_, &status) == 0 && S_ISSOCK(status.st_mode) &&
         status.st_dev == device_ && status.st_ino == inode_;
}

}  // namespace dprof::inject
