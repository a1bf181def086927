// SPDX-License-Identifier: Apache-2.0
// Digests as bytes: in files and in messages between processes, of one build of dprof only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analyzer/digest/digest.h"

namespace dprof::analyzer {

// Of the code that makes digests: bytes of another one mean something else.
extern const std::string_view kDigestFingerprint;

[[nodiscard]] std::string bytes_of(const RankDigest& digest);
// nullopt = they are none. Bytes that may have been damaged have to be checked before: a length in
// them can ask for any memory.
[[nodiscard]] std::optional<RankDigest> digest_of(std::string bytes);

}  // namespace dprof::analyzer
