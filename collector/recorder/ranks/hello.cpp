// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/ranks/hello.h"

#include <fmt/format.h>

#include <cstring>

#include "collector/recorder/common/secrets.h"
#include "collector/recorder/common/text.h"
#include "collector/wire/hello.h"

namespace dprof::recorder {

Result<ParsedHello> parse_hello(std::span<const unsigned char> packet_untrusted) {
  wire::Hello hello{};
  if (packet_untrusted.size() < sizeof hello) {
    return fail(Code::kDamaged, fmt::format("a hello of {} bytes", packet_untrusted.size()));
  }
  std::memcpy(&hello, packet_untrusted.data(), sizeof hello);
  if (hello.magic != wire::kMagic) return fail(Code::kDamaged, "a hello without dprof's mark");

  ParsedHello parsed;
  parsed.wire_version = hello.wire_version;
  parsed.pid = hello.pid;
  parsed.error_number = hello.error_number;
  parsed.first_event_ticks = hello.first_event_ticks;
  if (hello.wire_version != wire::kWireVersion) return parsed;

  const size_t room = packet_untrusted.size() - sizeof hello;
  if (hello.text_bytes > room) return fail(Code::kDamaged, "a hello that was cut");
  const std::string_view text(reinterpret_cast<const char*>(packet_untrusted.data()) + sizeof hello,
                              hello.text_bytes);
  parsed.variables = parse_variables(text, '\0');
  const auto take = [&](std::string_view key) {
    const auto found = parsed.variables.find(key);
    if (found == parsed.variables.end()) return std::string();
    std::string value = clean_text(found->second);
    parsed.variables.erase(found);
    return value;
  };
  parsed.command = mask_secrets(take("cmdline"));
  parsed.error = take("error");
  return parsed;
}

}  // namespace dprof::recorder
