// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/control/control.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "collector/recorder/control/capture.h"
#include "collector/recorder/control/control_answer.h"

namespace dprof::recorder {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Empty if the path is too long for a socket.
std::optional<sockaddr_un> address_of_socket(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string text = path.string();
  if (text.empty() || text.size() >= sizeof address.sun_path) return std::nullopt;
  text.copy(address.sun_path, text.size());
  return address;
}

bool may_ask(int socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         (peer.uid == geteuid() || peer.uid == 0);
}

std::string_view take_word(std::string_view& text) {
  const size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

milliseconds left_of(steady_clock::time_point deadline) {
  return std::max(milliseconds(0),
                  std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now()));
}

}  // namespace

Result<ControlRequest> parse_control_request(std::string_view line) {
  const std::string_view action = take_word(line);
  ControlRequest request;
  if (action == "level") {
    request.action = ControlAction::kLevel;
    const std::string_view level = take_word(line);
    if (level != "light" && level != "standard" && level != "full") {
      return fail(Code::kUsage, "a level is light, standard or full");
    }
    request.detail = detail_level(level);
  } else if (action == "start") {
    request.action = ControlAction::kStart;
  } else if (action == "stop") {
    request.action = ControlAction::kStop;
  } else if (action == "trigger") {
    request.action = ControlAction::kTrigger;
  } else if (action != "status") {
    return fail(Code::kUsage, "no such request");
  }
  if (!line.empty()) return fail(Code::kUsage, "too many words");
  return request;
}

Result<ControlServer> ControlServer::open(const std::filesystem::path& path) {
  Descriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const std::optional<sockaddr_un> address = address_of_socket(path);
  if (!address || !listener.valid() ||
      bind(listener.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 ||
      listen(listener.get(), kMaxAccepts) != 0) {
    return fail(Code::kIo, fmt::format("no socket for dprof ctl: {}", std::strerror(errno)));
  }
  return ControlServer(std::move(listener), path);
}

ControlServer::~ControlServer() {
  if (!path_.empty()) unlink(path_.c_str());  // else moved from
}

std::vector<int> ControlServer::descriptors() const {
  std::vector<int> all{listener_.get()};
  for (const Connection& connection : connections_) all.push_back(connection.socket.get());
  return all;
}

void ControlServer::accept_all(steady_clock::time_point now) {
  for (int i = 0; i < kMaxAccepts; ++i) {
    Descriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) return;
    if (connections_.size() >= kMaxConnections || !may_ask(socket.get())) continue;  // closes it
    connections_.push_back({std::move(socket), {}, now});
  }
}

bool ControlServer::advance(Connection& connection,
                            const std::function<std::string(const ControlRequest&)>& answer) {
  char buffer[kMaxRequest];
  const ssize_t count = recv(connection.socket.get(), buffer, sizeof buffer, 0);
  if (count < 0) return errno != EAGAIN && errno != EINTR;
  if (count == 0) return true;
  connection.received.append(buffer, static_cast<size_t>(count));
  const size_t end = connection.received.find('\n');
  std::string reply;
  if (end == std::string::npos) {
    if (connection.received.size() < kMaxRequest) return false;
    reply = render_refusal("the request is too long");
  } else {
    const Result<ControlRequest> request =
        parse_control_request(std::string_view(connection.received).substr(0, end));
    reply = request.ok() ? answer(*request) : render_refusal(request.error().what);
  }
  reply += '\n';
  // A reply fits in a socket's buffer; a client that does not read gets only a part.
  [[maybe_unused]] const ssize_t sent =
      send(connection.socket.get(), reply.data(), reply.size(), MSG_NOSIGNAL);
  return true;
}

void ControlServer::serve(const std::function<std::string(const ControlRequest&)>& answer,
                          steady_clock::time_point now) {
  accept_all(now);
  std::erase_if(connections_, [&](Connection& connection) {
    return advance(connection, answer) || now - connection.since > kPatience;
  });
}

Result<std::string> ask_recorder(const std::filesystem::path& path, std::string_view line,
                                 milliseconds patience) {
  const steady_clock::time_point deadline = steady_clock::now() + patience;
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const std::optional<sockaddr_un> address = address_of_socket(path);
  if (!address) return fail(Code::kNotFound, "it has no socket");
  if (!socket.valid()) return fail(Code::kIo, std::strerror(errno));
  while (connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) !=
         0) {
    const bool is_busy = errno == EAGAIN || errno == EINTR;
    if (!is_busy) {
      return fail(errno == ECONNREFUSED || errno == ENOENT ? Code::kNotFound : Code::kIo,
                  std::strerror(errno));
    }
    if (steady_clock::now() >= deadline) return fail(Code::kIo, "it does not answer");
    std::this_thread::sleep_for(milliseconds(10));
  }
  const std::string request = std::string(line) + '\n';
  if (send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size())) {
    return fail(Code::kIo, std::strerror(errno));
  }
  std::string reply;
  constexpr size_t kMostReply = 4 << 20;
  while (reply.size() < kMostReply) {
    pollfd polled{socket.get(), POLLIN, 0};
    if (poll(&polled, 1, static_cast<int>(left_of(deadline).count())) <= 0) {
      return fail(Code::kIo, "it does not answer");
    }
    char buffer[4096];
    const ssize_t count = recv(socket.get(), buffer, sizeof buffer, 0);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return fail(Code::kIo, std::strerror(errno));
    if (count == 0) break;
    reply.append(buffer, static_cast<size_t>(count));
    if (reply.back() == '\n') return reply.substr(0, reply.size() - 1);
  }
  return fail(Code::kIo, "it does not answer");
}

}  // namespace dprof::recorder
