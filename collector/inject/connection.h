// SPDX-License-Identifier: Apache-2.0
// The socket to the recorder: connect, send one hello, then only watch for the hang-up. The program
// can close our descriptor and reuse its number, so nothing is sent after the hello, and the number
// is checked before each use.
//
// Threading  one thread at a time: first the one that starts the session, then the helper.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace dprof::inject {

class Connection {
 public:
  enum class Connect {
    kDone,
    kBusy,
    kRefused
  };                                            // kBusy: the recorder's backlog is full, try again
  enum class Peer { kThere, kGone, kUnknown };  // kUnknown: our descriptor was closed

  // Creates the socket if needed, and connects it to `path`.
  Connect connect(const char* path) noexcept;

  // Sends the one packet, with `descriptor` unless it is negative. False if the recorder is gone.
  bool send_hello(const void* packet, uint32_t bytes, int descriptor) noexcept;

  [[nodiscard]] Peer peer() const noexcept;

  // Closes the descriptor if it is still ours. Safe in a fork child.
  void close() noexcept;

 private:
  [[nodiscard]] bool still_ours() const noexcept;

  int descriptor_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace dprof::inject
