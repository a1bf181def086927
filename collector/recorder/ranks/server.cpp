// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/ranks/server.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "collector/wire/hello.h"

namespace dprof::recorder {
namespace {

// More than the processes of any node that start at once.
constexpr int kBacklog = 4096;
// Then the recorder's other work has its turn, however fast clients connect.
constexpr int kAcceptsAtOnce = 1024;
constexpr size_t kMaxDescriptors = 4;  // in one packet; all but the first are closed

// Not glibc's pidfd_open(): it came with 2.36.
int open_process(int pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

// The peer's pid; nullopt when it is another user's process.
std::optional<int> peer_pid(int socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return std::nullopt;
  if (credentials.uid != geteuid()) return std::nullopt;
  return credentials.pid;
}

struct Packet {
  std::vector<unsigned char> bytes;
  Descriptor memory;
};

enum class PacketReceipt { kPacket, kNothingYet, kGone };

PacketReceipt receive(int socket, Packet& packet) {
  packet.bytes.resize(wire::kHelloBytes);
  iovec part{packet.bytes.data(), packet.bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (got < 0)
    return errno == EAGAIN || errno == EINTR ? PacketReceipt::kNothingYet : PacketReceipt::kGone;
  packet.bytes.resize(static_cast<size_t>(got));
  for (cmsghdr* part_of = CMSG_FIRSTHDR(&message); part_of != nullptr;
       part_of = CMSG_NXTHDR(&message, part_of)) {
    if (part_of->cmsg_level != SOL_SOCKET || part_of->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part_of->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part_of) + i * sizeof fd, sizeof fd);
      Descriptor received(fd);
      if (!packet.memory.valid()) packet.memory = std::move(received);
    }
  }
  return got == 0 ? PacketReceipt::kGone : PacketReceipt::kPacket;
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

Result<Server> Server::open() {
  // Not TMPDIR: its path can be longer than a socket's limit (107 bytes).
  char folder[] = "/tmp/dprof-XXXXXX";
  if (mkdtemp(folder) == nullptr) {
    return fail(Code::kIo, fmt::format("cannot make a folder in /tmp: {}", std::strerror(errno)),
                "/tmp must be writable");
  }
  const std::filesystem::path path = std::filesystem::path(folder) / "s";
  Server server(Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
                folder, path);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.string().copy(address.sun_path, sizeof address.sun_path - 1);
  if (!server.socket_.valid() ||
      bind(server.socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
          0 ||
      listen(server.socket_.get(), kBacklog) != 0) {
    return fail(Code::kIo,
                fmt::format("{}: cannot listen: {}", path.string(), std::strerror(errno)));
  }
  return server;
}

Server::~Server() {
  if (folder_.empty()) return;  // moved from
  std::error_code error;
  std::filesystem::remove_all(folder_, error);
}

Result<std::filesystem::path> Server::preloadable(const std::filesystem::path& library) {
  if (library.string().find_first_of(" \t\n:") == std::string::npos) return library;
  std::error_code error;
  const std::filesystem::path link = folder_ / library.filename();
  std::filesystem::create_symlink(std::filesystem::absolute(library), link, error);
  if (error) {
    return fail(Code::kIo, fmt::format("{}: {}", link.string(), error.message()),
                "install dprof where the path has no blank and no colon");
  }
  return link_ = link;
}

std::vector<int> Server::descriptors() const {
  std::vector<int> all;
  if (std::chrono::steady_clock::now() >= deaf_until_) all.push_back(socket_.get());
  for (const Caller& caller : callers_) all.push_back(caller.socket.get());
  return all;
}

// False if the caller has not sent anything yet.
bool Server::hear(Caller& caller, std::vector<Guest>& guests) {
  Packet packet;
  const PacketReceipt received = receive(caller.socket.get(), packet);
  if (received == PacketReceipt::kNothingYet) return false;
  Result<ParsedHello> hello = received == PacketReceipt::kPacket
                                  ? parse_hello(packet.bytes)
                                  : fail(Code::kDamaged, "a connection without a hello");
  if (!hello.ok()) {
    ++turned_away_;
    return true;
  }
  Descriptor process(caller.pid > 0 ? open_process(caller.pid) : -1);
  guests.push_back({*std::move(hello), caller.pid, std::move(caller.socket), std::move(process),
                    std::move(packet.memory)});
  return true;
}

// Its hello may have arrived just now.
void Server::drop_oldest(std::vector<Guest>& guests) {
  if (!hear(callers_.front(), guests)) ++turned_away_;
  callers_.erase(callers_.begin());
}

// False if no connection is pending.
bool Server::accept_one(std::vector<Guest>& guests) {
  Descriptor socket(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.valid()) {
    const bool no_descriptors = errno == EMFILE || errno == ENFILE;
    if (!no_descriptors) return errno == ECONNABORTED || errno == EINTR;
    if (!callers_.empty()) {
      drop_oldest(guests);
      return true;
    }
    ++out_of_descriptors_;
    deaf_until_ = std::chrono::steady_clock::now() + kDeafness;
    return false;
  }
  const std::optional<int> pid = peer_pid(socket.get());
  if (!pid) {
    ++turned_away_;
    return true;
  }
  Caller caller{std::move(socket), *pid, std::chrono::steady_clock::now()};
  if (hear(caller, guests)) return true;
  if (callers_.size() == kMaxCallers) drop_oldest(guests);
  callers_.push_back(std::move(caller));
  return true;
}

std::vector<Guest> Server::accept_all() {
  std::vector<Guest> guests;
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(callers_, [&](Caller& caller) {
    if (hear(caller, guests)) return true;
    const bool too_long = now - caller.since > kPatience;
    turned_away_ += too_long ? 1 : 0;
    return too_long;
  });
  if (now < deaf_until_) return guests;
  for (int i = 0; i < kAcceptsAtOnce && accept_one(guests); ++i) {
  }
  return guests;
}

}  // namespace dprof::recorder
