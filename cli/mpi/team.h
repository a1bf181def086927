// SPDX-License-Identifier: Apache-2.0
// The processes of an MPI job, which send each other messages of any length. Nothing here waits for
// another process, except join(), which ends this one if the others do not come.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/mpi/library.h"

namespace dprof::cli {

struct TeamMessage {
  size_t from = 0;
  std::string bytes;  // empty: from number 0, it is over
};

// Threading  all calls from one thread.
class Team {
 public:
  // Loads the library and starts MPI. If that takes longer than `patience`, some of the job's
  // processes do not take part: this one then says so and ends, since it cannot be cancelled.
  static Result<std::unique_ptr<Team>> join(const std::filesystem::path& library,
                                            std::chrono::seconds patience);
  // With a library that is already started, as number `number` of `of`.
  Team(const MpiLibrary& library, size_t number, size_t of,
       void (*leave_alone)(int code) = end_without_farewell);
  // Number 0 tells the others that it is over, and all leave in order. After lost_one() it is not
  // known who would still come: the remaining ones are ended, with kSomethingLost.
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] size_t number() const { return number_; }
  [[nodiscard]] size_t size() const { return size_; }

  void send(size_t to, std::string bytes);
  // Messages that have arrived completely, in each sender's order.
  [[nodiscard]] std::optional<TeamMessage> receive();
  // Advances the messages: to be called often. Returns whether any advanced.
  bool turn();
  [[nodiscard]] bool all_sent() const { return outgoing_.empty(); }
  void lost_one() { lost_ = true; }
  [[nodiscard]] bool has_lost_one() const { return lost_; }

 private:
  // The launcher notices, and ends the others.
  [[noreturn]] static void end_without_farewell(int code);

  struct Outgoing {
    size_t to = 0;
    uint64_t length = 0;  // a message of its own, before the bytes
    std::string bytes;
    std::deque<void*> transfers;
  };
  struct Inbox {
    uint64_t length = 0;
    std::string bytes;
    size_t asked_for = 0;      // of the bytes
    void* transfer = nullptr;  // nullptr: nothing is expected of it
  };

  bool turn(size_t from);
  void wait_for_next(size_t from);
  void wait_for_part(size_t from);

  const MpiLibrary& library_;
  const size_t number_;
  const size_t size_;
  void (*const leave_alone_)(int);
  bool lost_ = false;
  std::list<Outgoing> outgoing_;  // at a stable address while it is sent
  std::vector<Inbox> inboxes_;    // by sender
  std::deque<TeamMessage> arrived_;
};

}  // namespace dprof::cli
