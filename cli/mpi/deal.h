// SPDX-License-Identifier: Apache-2.0
// Deals pieces of work out to hands that work at the same time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace dprof::cli {

// Whether a hand would rather have this piece than another hand: it lies on its disk.
using Likes = std::function<bool(size_t piece, size_t hand)>;

// The hand of each piece. Largest pieces first, each to the hand that has least: what the hands
// have differs by one piece at most, but for a tenth where somebody likes a piece. The same sizes
// give the same deal everywhere. O(pieces × hands).
[[nodiscard]] std::vector<size_t> deal(std::span<const uint64_t> sizes, size_t hands,
                                       const Likes& likes = {});

}  // namespace dprof::cli
