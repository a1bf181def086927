// SPDX-License-Identifier: Apache-2.0
// Elapsed time, and what this process has used.
#pragma once

#include <sys/resource.h>

#include <chrono>
#include <cstdint>

namespace dprof::bench {

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct Usage {
  double cpu_s = 0;
  int64_t peak_bytes = 0;  // of memory
};

inline Usage usage() {
  rusage r{};
  getrusage(RUSAGE_SELF, &r);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return {seconds(r.ru_utime) + seconds(r.ru_stime), static_cast<int64_t>(r.ru_maxrss) * 1024};
}

}  // namespace dprof::bench
