// SPDX-License-Identifier: Apache-2.0
// UDP between recorders: addresses, sockets, and when the kernel received a packet.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "collector/recorder/ranks/rank.h"
#include "collector/recorder/ranks/server.h"

namespace dprof::recorder {

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;

  [[nodiscard]] std::string host() const;  // numeric
  [[nodiscard]] int port() const;
  [[nodiscard]] bool is_loopback() const;
  // Same host and port.
  [[nodiscard]] bool is(const Address& other) const;
};

// "host:port", "1.2.3.4:port", "[::1]:port".
Result<Address> parse_address(const std::string& text);
// Resolves the name, which can take seconds if it is unknown.
Result<Address> find_address(const std::string& host, int port);

// The address by which other hosts of the job most likely reach this one: on the route to the job's
// master, else of the interface set for Gloo or NCCL, else of the first that is up.
std::string own_address(const Variables& variables);

// A socket at `address` (port 0: any free one), with receive timestamps. kUnsupported if the
// address is not this host's, kUsage if it is in use.
Result<Descriptor> bind_udp(const Address& address);
// All addresses of the family of `like`.
Address any_address(const Address& like);
int port_of(int socket);

struct Received {
  size_t bytes = 0;
  Address from;
  int64_t age_ns = 0;  // since the kernel received it; 0 if not reported
};
// Does not wait. Empty: no packet. A packet longer than `buffer` counts as 0 bytes.
std::optional<Received> receive(int socket, std::span<uint8_t> buffer);
bool send_to(int socket, std::span<const uint8_t> bytes, const Address& to);

}  // namespace dprof::recorder
