// SPDX-License-Identifier: Apache-2.0
// The native stacks of all threads of another process, by ptrace (elfutils' libdwfl). Only what
// the process itself has mapped is read: symbols, and line tables where a binary carries them.
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
  uint64_t pthread = 0;            // pthread_self() of it, 0 = not known
  std::vector<StackEntry> frames;  // the innermost first
  bool answers = false;  // of Python: it is the one that the signal came to, the first as a rule
};

// One thread at a time is stopped, for as long as its frames are walked, and goes on. `deliver` is
// called for each, the first thread first. The result is why something is missing, "" = nothing is.
//
// Threading  the calling thread becomes the tracer. Should its process die, the kernel lets go of
//            what it had stopped.
// Cost       some milliseconds for each thread.
std::string take_native_stacks(int pid, const std::function<void(const ThreadStack&)>& deliver);

}  // namespace dprof::recorder
