// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <malloc.h>

#include <vector>

namespace dprof {

// Empties a list and releases its memory, which neither clear() nor `list = {}` does.
template <typename T>
void free_memory(std::vector<T>& list) {
  std::vector<T>().swap(list);
}

// Gives the heap's free pages back to the system. glibc keeps what a thread allocated in that
// thread's arena, where other threads cannot use it. O(free pages).
inline void release_free_pages() { malloc_trim(0); }

}  // namespace dprof
