// SPDX-License-Identifier: Apache-2.0
// The protocol of `dprof ctl` and a recorder: a Unix socket, one request line, one JSON reply
// line.
//
//   start | stop | status | level light|standard|full | trigger
//
// The kernel identifies the client: only the recorder's user (and root) is answered. The socket is
// next to that of the hellos; RUN/recorders/HOST-PID.json gives its path.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
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

// Without its line end. On kUsage the message names the error.
Result<ControlRequest> parse_control_request(std::string_view line);

// Everything is bounded: connections at once, bytes of a request, time of a connection. A flooding
// client is turned away, and costs the recorder's loop an accept and a close per connection.
//
// Threading  one thread; never blocks.
class ControlServer {
 public:
  static constexpr size_t kMaxConnections = 8;
  static constexpr size_t kMaxRequest = 256;  // bytes
  static constexpr int kMaxAccepts = 64;      // in one call of serve()
  static constexpr std::chrono::seconds kPatience{2};

  // At a path where no file exists yet; it is removed with this object.
  static Result<ControlServer> open(const std::filesystem::path& path);
  ControlServer(ControlServer&&) noexcept = default;
  ~ControlServer();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // To poll for reading.
  [[nodiscard]] std::vector<int> descriptors() const;
  // Reads available requests; `answer` returns the reply to one, without a line end.
  void serve(const std::function<std::string(const ControlRequest&)>& answer,
             std::chrono::steady_clock::time_point now);

 private:
  struct Connection {
    Descriptor socket;
    std::string received;
    std::chrono::steady_clock::time_point since;
  };

  ControlServer(Descriptor listener, std::filesystem::path path)
      : listener_(std::move(listener)), path_(std::move(path)) {}
  void accept_all(std::chrono::steady_clock::time_point now);
  // True when the connection is finished.
  bool advance(Connection& connection,
               const std::function<std::string(const ControlRequest&)>& answer);

  Descriptor listener_;
  std::filesystem::path path_;
  std::vector<Connection> connections_;
};

// Sends one request line to the recorder at that socket; returns its reply. kNotFound: no listener
// there; kIo: no answer.
Result<std::string> ask_recorder(const std::filesystem::path& path, std::string_view line,
                                 std::chrono::milliseconds patience);

}  // namespace dprof::recorder
