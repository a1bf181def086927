// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/clocks/udp.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <time.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/time.h"

namespace dprof::recorder {
namespace {

constexpr char kLoopback[] = "127.0.0.1";

Address address_of(const sockaddr* from, socklen_t length) {
  Address address;
  std::memcpy(&address.storage, from, length);
  address.length = length;
  return address;
}

// Sends nothing: the kernel only chooses the route.
std::optional<Address> source_towards(const Address& to) {
  const Descriptor socket(::socket(to.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&to.storage), to.length) != 0) {
    return std::nullopt;
  }
  Address own;
  own.length = sizeof own.storage;
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own.storage), &own.length) != 0) {
    return std::nullopt;
  }
  return own;
}

// The address of the interface `name`, or of any ("") that is up; IPv4 before IPv6.
std::string interface_address(const std::string& name) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return {};
  std::string found;
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* one = all; one != nullptr && found.empty(); one = one->ifa_next) {
      if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != family) continue;
      const bool usable = (one->ifa_flags & IFF_UP) != 0 && (one->ifa_flags & IFF_LOOPBACK) == 0;
      if (name.empty() ? !usable : name != one->ifa_name) continue;
      const Address address =
          address_of(one->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
      const std::string host = address.host();
      if (!host.starts_with("fe80:")) found = host;  // link-local: needs a scope
    }
  }
  freeifaddrs(all);
  return found;
}

}  // namespace

std::string Address::host() const {
  char text[NI_MAXHOST] = {};
  getnameinfo(reinterpret_cast<const sockaddr*>(&storage), length, text, sizeof text, nullptr, 0,
              NI_NUMERICHOST);
  return text;
}

int Address::port() const {
  return ntohs(storage.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(storage).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(storage).sin_port);
}

bool Address::is_loopback() const {
  const std::string text = host();
  return text.starts_with("127.") || text == "::1";
}

bool Address::is(const Address& other) const {
  return port() == other.port() && host() == other.host();
}

Result<Address> find_address(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (code != 0) {
    return fail(Code::kUsage, fmt::format("{}: {}", host, gai_strerror(code)),
                "give a name or number of a host");
  }
  // IPv4 first: clusters have it on all their hosts.
  const addrinfo* best = found;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (one->ai_family != AF_INET) continue;
    best = one;
    break;
  }
  const Address address = address_of(best->ai_addr, best->ai_addrlen);
  freeaddrinfo(found);
  return address;
}

Result<Address> parse_address(const std::string& text) {
  const size_t colon = text.rfind(':');
  int port = 0;
  if (colon != std::string::npos) {
    std::from_chars(text.data() + colon + 1, text.data() + text.size(), port);
  }
  std::string host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (colon == std::string::npos || host.empty() || port < 1 || port > 65535 ||
      text.substr(colon + 1) != std::to_string(port)) {
    return fail(Code::kUsage, fmt::format("'{}' is not HOST:PORT", text),
                "for example --meet node0:29400");
  }
  return find_address(host, port);
}

std::string own_address(const Variables& variables) {
  for (const std::string_view name : {"MASTER_ADDR", "SLURM_LAUNCH_NODE_IPADDR"}) {
    const std::string host = value_of(variables, name);
    if (host.empty()) continue;
    const Result<Address> master = find_address(host, 9);
    if (!master.ok()) continue;
    const std::optional<Address> own = source_towards(*master);
    // A host's own name often resolves to 127.0.1.1, which other hosts cannot reach.
    const bool meant = host == "localhost" || host == "::1" || host.starts_with("127.");
    if (own && (meant || !own->is_loopback())) return own->host();
  }
  for (const std::string_view name : {"GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"}) {
    const std::string interface = value_of(variables, name);
    const std::string found = interface.empty() ? std::string() : interface_address(interface);
    if (!found.empty()) return found;
  }
  const std::string found = interface_address("");
  return found.empty() ? kLoopback : found;
}

Result<Descriptor> bind_udp(const Address& address) {
  Descriptor socket(
      ::socket(address.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.length) !=
      0) {
    const Code code = errno == EADDRNOTAVAIL ? Code::kUnsupported
                      : errno == EADDRINUSE  ? Code::kUsage
                                             : Code::kIo;
    return fail(code,
                fmt::format("UDP {}:{}: {}", address.host(), address.port(), std::strerror(errno)));
  }
  const int on = 1;  // without it, times include waiting for a processor
  setsockopt(socket.get(), SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
  return socket;
}

Address any_address(const Address& like) {
  Address any;
  any.storage.ss_family = like.storage.ss_family;
  any.length = like.length;
  return any;
}

int port_of(int socket) {
  Address own;
  own.length = sizeof own.storage;
  const bool known =
      getsockname(socket, reinterpret_cast<sockaddr*>(&own.storage), &own.length) == 0;
  return known ? own.port() : 0;
}

std::optional<Received> receive(int socket, std::span<uint8_t> buffer) {
  Received received;
  iovec data{buffer.data(), buffer.size()};
  alignas(cmsghdr) char control[128] = {};
  msghdr message{};
  message.msg_name = &received.from.storage;
  message.msg_namelen = sizeof received.from.storage;
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT);
  if (got < 0) return std::nullopt;
  received.bytes = (message.msg_flags & MSG_TRUNC) != 0 ? 0 : static_cast<size_t>(got);
  received.from.length = message.msg_namelen;
  for (const cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, const_cast<cmsghdr*>(part))) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_TIMESTAMPNS) continue;
    timespec stamp{};
    timespec now{};
    std::memcpy(&stamp, CMSG_DATA(part), sizeof stamp);
    clock_gettime(CLOCK_REALTIME, &now);
    const int64_t age = (now.tv_sec - stamp.tv_sec) * kNsPerSecond + (now.tv_nsec - stamp.tv_nsec);
    // CLOCK_REALTIME can be set at any moment.
    if (age > 0 && age < kNsPerSecond) received.age_ns = age;
  }
  return received;
}

bool send_to(int socket, std::span<const uint8_t> bytes, const Address& to) {
  return sendto(socket, bytes.data(), bytes.size(), MSG_DONTWAIT,
                reinterpret_cast<const sockaddr*>(&to.storage),
                to.length) == static_cast<ssize_t>(bytes.size());
}

}  // namespace dprof::recorder
