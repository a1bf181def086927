// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace dprof {

// Empties a list and releases its memory, which neither clear() nor `list = {}` does.
template <typename T>
void free_memory(std::vector<T>& list) {
  std::vector<T>().swap(list);
}

}  // namespace dprof
