// SPDX-License-Identifier: Apache-2.0
// How `dprof ctl` talks to a recorder: a Unix socket, one request line, one reply line of JSON.
//
//   start | stop | status | level light|standard|full | trigger
//
// The kernel says who asks: only the recorder's user (and root) is answered. The socket lies beside
// that of the hellos; RUN/recorders/HOST-PID.json says where.
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

// Without its line end. kUsage with what is wrong.
Result<ControlRequest> parse_control_request(std::string_view line);

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

  // At a path where there is no file yet; it is removed with this object.
  static Result<ControlServer> open(const std::filesystem::path& path);
  ControlServer(ControlServer&&) noexcept = default;
  ~ControlServer();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
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

  ControlServer(Descriptor listener, std::filesystem::path path)
      : listener_(std::move(listener)), path_(std::move(path)) {}
  void accept_all(std::chrono::steady_clock::time_point now);
  // True when the connection is done with.
  bool advance(Connection& connection,
               const std::function<std::string(const ControlRequest&)>& answer);

  Descriptor listener_;
  std::filesystem::path path_;
  std::vector<Connection> connections_;
};

// Sends one request line to the recorder at that socket; its reply. kNotFound: nobody listens
// there; kIo: it does not answer.
Result<std::string> ask_recorder(const std::filesystem::path& path, std::string_view line,
                                 std::chrono::milliseconds patience);

}  // namespace dprof::recorder
