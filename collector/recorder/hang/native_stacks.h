// SPDX-License-Identifier: Apache-2.0
// The native stacks of all threads of another process, by ptrace (elfutils' libdwfl). Reads only
// what the process itself has mapped: symbols, and line tables if a binary has them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace dprof::recorder {

struct StackEntry {
  std::string function;
  std::string file;  // source file, or the library; "" = not known
  std::optional<int64_t> line;
};

struct ThreadStack {
  int64_t os_tid = 0;
  std::string name;
  uint64_t pthread = 0;            // its pthread_self(), 0 = not known
  std::vector<StackEntry> frames;  // the innermost first
  bool answers = false;  // Python's: the thread that received the signal, usually the first
};

// One thread at a time is stopped while its frames are walked, and then continues. `deliver` is
// called for each, the first thread first. Returns why something is missing, "" = complete.
//
// Threading  the calling thread becomes the tracer. If its process dies, the kernel releases the
//            thread that it had stopped.
// Cost       some milliseconds for each thread.
std::string take_native_stacks(int pid, const std::function<void(const ThreadStack&)>& deliver);

}  // namespace dprof::recorder
