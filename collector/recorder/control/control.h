// SPDX-License-Identifier: Apache-2.0
// How `dprof ctl` talks to a recorder: TCP on loopback, one request line, one reply line of JSON.
//
//   TOKEN start | stop | status | level light|standard|full | trigger
//
// The port and the token lie in RUN/recorders/HOST-PID.json, which only the recorder's user can
// read.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collector/recorder/ranks/server.h"
#include "collector/wire/layout.h"

namespace dprof::recorder {

enum class ControlAction { kStart, kStop, kStatus, kLevel, kTrigger };

struct ControlRequest {
  ControlAction action = ControlAction::kStatus;
  wire::DetailLevel detail = wire::DetailLevel::kStandard;  // of kLevel
};

// Without its line end. kUsage with what is wrong; of a wrong token it says no more than that.
Result<ControlRequest> parse_control_request(std::string_view line, std::string_view token);

// Bounded in everything: connections at once, bytes of a request, time of a connection. Who floods
// it is turned away, and costs the recorder's loop an accept and a close each.
//
// Threading  one thread; never blocks.
class ControlServer {
 public:
  static constexpr size_t kMaxConnections = 8;
  static constexpr size_t kMaxRequest = 256;  // bytes
  static constexpr int kMaxAccepts = 64;      // in one call of serve()
  static constexpr std::chrono::seconds kPatience{2};

  static Result<ControlServer> open(std::string token);

  [[nodiscard]] int port() const { return port_; }
  // To be polled for reading.
  [[nodiscard]] std::vector<int> descriptors() const;
  // Takes what has come; `answer` gives the reply to a request, without a line end.
  void serve(const std::function<std::string(const ControlRequest&)>& answer,
             std::chrono::steady_clock::time_point now);

 private:
  struct Connection {
    Descriptor socket;
    std::string received;
    std::chrono::steady_clock::time_point since;
  };

  ControlServer(std::string token, Descriptor listener, int port)
      : token_(std::move(token)), listener_(std::move(listener)), port_(port) {}
  void accept_all(std::chrono::steady_clock::time_point now);
  // True when the connection is done with.
  bool advance(Connection& connection,
               const std::function<std::string(const ControlRequest&)>& answer);

  std::string token_;
  Descriptor listener_;
  int port_ = 0;
  std::vector<Connection> connections_;
};

// Sends one request line to the recorder at that port of this machine; its reply. kNotFound: nobody
// listens there; kIo: it does not answer.
Result<std::string> ask_recorder(int port, std::string_view line,
                                 std::chrono::milliseconds patience);

}  // namespace dprof::recorder
