// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/nvtx_payload.h"

namespace dprof::recorder {

void PayloadSchemas::add(const wire::SchemaEntry&, std::string_view, std::string_view) {}

const PayloadSchemas::Schema* PayloadSchemas::find(uint32_t, uint64_t) const { return nullptr; }

std::optional<int64_t> integer_field(const PayloadSchemas::Schema&, std::string_view,
                                     std::string_view) {
  return std::nullopt;
}

std::optional<std::string> text_field(const PayloadSchemas::Schema&, std::string_view,
                                      std::string_view) {
  return std::nullopt;
}

}  // namespace dprof::recorder
