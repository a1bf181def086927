// SPDX-License-Identifier: Apache-2.0
// Distributes pieces of work over hands that work at the same time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace dprof::cli {

// True if a hand should preferably get this piece: it is on its disk.
using Likes = std::function<bool(size_t piece, size_t hand)>;

// The hand of each piece. Largest pieces first, each to the hand with the smallest load: loads
// differ by at most one piece, plus a tenth where a hand prefers a piece. The same sizes give the
// same deal everywhere. O(pieces × hands).
[[nodiscard]] std::vector<size_t> deal(std::span<const uint64_t> sizes, size_t hands,
                                       const Likes& likes = {});

}  // namespace dprof::cli
