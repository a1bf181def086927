// SPDX-License-Identifier: Apache-2.0
// A recorded process built by hand: shared memory, rings, texts and the hello. The tests' own
// writer, so that the recorder is tested against the wire and not against libdprof.so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "collector/wire/arena.h"
#include "collector/wire/hello.h"
#include "collector/wire/ring.h"

namespace dprof::recorder {

class FakeProcess {
 public:
  explicit FakeProcess(const wire::TickScale& scale);
  FakeProcess(const FakeProcess&) = delete;
  FakeProcess& operator=(const FakeProcess&) = delete;
  ~FakeProcess();

  [[nodiscard]] const wire::Mapping& mapping() const { return mapping_; }
  [[nodiscard]] int memory_fd() const { return memory_fd_; }

  void began_at(uint64_t ticks) { first_event_ticks_ = ticks; }
  [[nodiscard]] uint64_t first_event_ticks() const { return first_event_ticks_; }

  uint32_t text(std::string_view text);
  // Takes the ring for a thread.
  wire::RingWriter open_ring(uint32_t index, uint32_t os_tid);
  void close_ring(uint32_t index);

  // Connects and sends the hello; the descriptor stays open. `variables` are "KEY=VALUE\0" entries.
  bool say_hello(const std::string& socket_path, std::string_view variables,
                 uint32_t wire_version = wire::kWireVersion, bool with_memory = true);

 private:
  wire::Mapping mapping_;
  int memory_fd_ = -1;
  int socket_ = -1;
  uint64_t first_event_ticks_ = 0;
};

// The clock in the environment that the recorder set for its children; plain CLOCK_MONOTONIC
// without.
wire::TickScale scale_of_environment();

// Records with their usual fields filled in.
wire::Record range_begin(uint32_t name, uint64_t ticks, uint8_t category, uint64_t key = 0);
wire::Record range_end(uint64_t ticks, uint8_t category, uint64_t key = 0);
wire::Record collective_enqueue(uint32_t name, uint64_t ticks, uint64_t group, uint8_t function);
wire::Record collective_edge(wire::Kind kind, uint32_t name, uint64_t ticks, uint64_t key);

}  // namespace dprof::recorder
