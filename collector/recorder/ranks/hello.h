// SPDX-License-Identifier: Apache-2.0
// The packet by which a process introduces itself.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "collector/recorder/ranks/rank.h"

namespace dprof::recorder {

struct ParsedHello {
  uint32_t wire_version = 0;
  int pid = 0;           // as the process sees itself
  int error_number = 0;  // why it has no shared memory; 0 = it has
  uint64_t first_event_ticks = 0;
  Variables variables;
  std::string command;
  std::string error;
};

// Parses the packet. Its text is read only if the wire version is ours.
Result<ParsedHello> parse_hello(std::span<const unsigned char> packet_untrusted);

}  // namespace dprof::recorder
