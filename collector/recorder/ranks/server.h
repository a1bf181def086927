// SPDX-License-Identifier: Apache-2.0
// The socket at which processes introduce themselves.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "collector/recorder/ranks/hello.h"

namespace dprof::recorder {

// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }

 private:
  int fd_;
};

// A process that has said hello.
struct Guest {
  ParsedHello hello;
  int pid = 0;         // from the kernel; 0 = hidden by a pid namespace
  Descriptor socket;   // never read again; its hang-up signals an end
  Descriptor process;  // pidfd; invalid if the process has gone, or is not visible
  Descriptor memory;   // invalid if the process could not create it
};

// Turns away connections that belong to another user, send garbage, or stay silent for a while, so
// that a flood of connections costs a rank neither its place nor the recorder its descriptors.
//
// Invariant  the socket is in a folder that only this user can enter; at most kMaxCallers
//            connections have not said hello.
// Threading  one thread.
class Server {
 public:
  static constexpr size_t kMaxCallers = 256;                     // beyond it, the oldest is dropped
  static constexpr std::chrono::milliseconds kPatience{10'000};  // a hello follows the connection
  static constexpr std::chrono::milliseconds kDeafness{100};

  static Result<Server> open();
  Server(Server&&) noexcept = default;
  ~Server();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // Its own folder, for this user alone.
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

  // A path to `library` that fits in LD_PRELOAD: if its own has a blank or a colon, which would end
  // it there, a link next to the socket.
  Result<std::filesystem::path> preloadable(const std::filesystem::path& library);

  // Descriptors to poll for input: the socket and the connections that have not said hello.
  [[nodiscard]] std::vector<int> descriptors() const;

  // Accepts waiting connections and reads their hellos. Without a free descriptor it accepts none
  // for kDeafness: they wait in the backlog, and a poll() that keeps reporting them costs no core.
  std::vector<Guest> accept_all();

  // Connections without a hello: those turned away and those still silent.
  [[nodiscard]] int64_t strangers() const {
    return turned_away_ + static_cast<int64_t>(callers_.size());
  }
  // Connections that could not be accepted at once for lack of a descriptor.
  [[nodiscard]] int64_t out_of_descriptors() const { return out_of_descriptors_; }

 private:
  struct Caller {
    Descriptor socket;
    int pid;
    std::chrono::steady_clock::time_point since;
  };
  Server(Descriptor socket, std::filesystem::path folder, std::filesystem::path path)
      : socket_(std::move(socket)), folder_(std::move(folder)), path_(std::move(path)) {}

  bool accept_one(std::vector<Guest>& guests);
  bool hear(Caller& caller, std::vector<Guest>& guests);
  void drop_oldest(std::vector<Guest>& guests);

  Descriptor socket_;
  std::filesystem::path folder_, path_, link_;
  std::vector<Caller> callers_;  // the oldest first
  int64_t turned_away_ = 0;
  int64_t out_of_descriptors_ = 0;
  std::chrono::steady_clock::time_point deaf_until_{};
};

}  // namespace dprof::recorder
