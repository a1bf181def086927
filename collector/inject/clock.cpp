// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/clock.h"

#include <cerrno>
#include <cstdlib>

#include "collector/wire/ticks.h"

namespace dprof::inject {
namespace {

// Parses a decimal number and advances past it; false if there is none or it is out of range.
bool read_number(const char*& at, uint64_t& number) noexcept {
  while (*at == ' ') ++at;
  if (*at < '0' || *at > '9') return false;
  char* end = nullptr;
  const int kept = errno;
  errno = 0;
  number = strtoull(at, &end, 10);
  const bool good = errno == 0;
  errno = kept;
  at = end;
  return good;
}

}  // namespace

wire::TickScale tick_scale_of(const char* text) noexcept {
  const wire::TickScale fallback{wire::monotonic_ns(), 1, 0, wire::ClockSource::kMonotonic};
  if (text == nullptr) return fallback;
  uint64_t source = 0;
  uint64_t tick0 = 0;
  uint64_t multiplier = 0;
  uint64_t shift = 0;
  if (!read_number(text, source) || !read_number(text, tick0) || !read_number(text, multiplier) ||
      !read_number(text, shift)) {
    return fallback;
  }
  const bool known = source == static_cast<uint64_t>(wire::ClockSource::kTsc) ||
                     source == static_cast<uint64_t>(wire::ClockSource::kMonotonic);
  if (!known || multiplier == 0 || shift > 63) return fallback;
  return {tick0, multiplier, static_cast<uint32_t>(shift),
          static_cast<wire::ClockSource>(static_cast<uint32_t>(source))};
}

}  // namespace dprof::inject
