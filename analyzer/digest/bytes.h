// SPDX-License-Identifier: Apache-2.0
// Digests as bytes: in files and in messages between processes of the same build of dprof.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analyzer/digest/digest.h"

namespace dprof::analyzer {

// Identifies the code that makes digests: another version's bytes have another meaning.
extern const std::string_view kDigestFingerprint;

[[nodiscard]] std::string bytes_of(const RankDigest& digest);
// nullopt = no digest. Check bytes for damage before the call: a corrupt length can request any
// amount of memory.
[[nodiscard]] std::optional<RankDigest> digest_of(std::string_view bytes);

}  // namespace dprof::analyzer
