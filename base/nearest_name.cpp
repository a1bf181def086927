// SPDX-License-Identifier: Apache-2.0
#include "base/nearest_name.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace dprof {
namespace {

// Letters inserted, deleted, replaced, or swapped with their neighbour (optimal string alignment).
size_t typing_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> rows(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t k = 0; k <= b.size(); ++k) {
      if (i == 0 || k == 0) {
        rows[i][k] = i + k;
        continue;
      }
      const size_t replaced = rows[i - 1][k - 1] + (a[i - 1] == b[k - 1] ? 0 : 1);
      rows[i][k] = std::min({rows[i - 1][k] + 1, rows[i][k - 1] + 1, replaced});
      if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1]) {
        rows[i][k] = std::min(rows[i][k], rows[i - 2][k - 2] + 1);
      }
    }
  }
  return rows[a.size()][b.size()];
}

}  // namespace

std::optional<std::string_view> nearest_name(std::string_view mistyped,
                                             std::span<const std::string_view> names) {
  constexpr size_t kLettersPerMistake = 3;
  std::optional<std::string_view> nearest;
  size_t fewest = 0;
  for (const std::string_view name : names) {
    const size_t most = std::max<size_t>(1, name.size() / kLettersPerMistake);
    if (mistyped.size() > name.size() + most) continue;  // whatever its length
    const size_t distance = typing_distance(mistyped, name);
    if (distance > most || (nearest && distance >= fewest)) continue;
    nearest = name;
    fewest = distance;
  }
  return nearest;
}

}  // namespace dprof
