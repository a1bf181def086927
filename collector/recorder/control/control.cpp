// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/control/control.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "collector/recorder/control/capture.h"
#include "collector/recorder/control/control_answer.h"

namespace dprof::recorder {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

// In a time that does not tell how much of it is right.
bool same_token(std::string_view given, std::string_view token) {
  unsigned char differs = given.size() == token.size() ? 0 : 1;
  for (size_t i = 0; i < token.size(); ++i) {
    const char other = i < given.size() ? given[i] : '\0';
    differs = static_cast<unsigned char>(differs | (other ^ token[i]));
  }
  return differs == 0;
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

Result<ControlRequest> parse_control_request(std::string_view line, std::string_view token) {
  if (token.empty() || !same_token(take_word(line), token))
    return fail(Code::kUsage, "wrong token");
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

Result<ControlServer> ControlServer::open(std::string token) {
  Descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address = loopback(0);
  socklen_t bytes = sizeof address;
  if (!listener.valid() ||
      bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener.get(), kMaxConnections) != 0 ||
      getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &bytes) != 0) {
    return fail(Code::kIo, fmt::format("no socket for dprof ctl: {}", std::strerror(errno)));
  }
  return ControlServer(std::move(token), std::move(listener), ntohs(address.sin_port));
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
    if (connections_.size() >= kMaxConnections) continue;  // closes it
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
        parse_control_request(std::string_view(connection.received).substr(0, end), token_);
    reply = request.ok() ? answer(*request) : render_refusal(request.error().what);
  }
  reply += '\n';
  // A reply fits a socket's buffer; whoever does not take it gets a part of it.
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

Result<std::string> ask_recorder(int port, std::string_view line, milliseconds patience) {
  const steady_clock::time_point deadline = steady_clock::now() + patience;
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port);
  if (!socket.valid()) return fail(Code::kIo, std::strerror(errno));
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail(errno == ECONNREFUSED ? Code::kNotFound : Code::kIo, std::strerror(errno));
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
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(Code::kIo, std::strerror(errno));
    if (count == 0) break;
    reply.append(buffer, static_cast<size_t>(count));
    if (reply.back() == '\n') return reply.substr(0, reply.size() - 1);
  }
  return fail(Code::kIo, "it does not answer");
}

}  // namespace dprof::recorder
