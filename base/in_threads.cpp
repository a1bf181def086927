// SPDX-License-Identifier: Apache-2.0
#include "base/in_threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace dprof {

bool in_threads(size_t count, size_t threads, const std::function<void(size_t)>& work,
                const std::function<bool(size_t)>& report) {
  constexpr std::chrono::milliseconds kPause{20};
  std::mutex mutex;  // protects the counters
  std::condition_variable one_is_done;
  size_t next = 0;
  size_t done = 0;
  const auto take_pieces = [&] {
    std::unique_lock lock(mutex);
    while (next < count) {
      const size_t mine = next++;
      lock.unlock();
      work(mine);
      lock.lock();
      ++done;
      one_is_done.notify_one();
    }
  };
  if (threads == 0) threads = std::max<size_t>(1, std::thread::hardware_concurrency());
  std::vector<std::jthread> workers;
  for (size_t t = 0; t < std::min(threads, count); ++t) workers.emplace_back(take_pieces);
  bool wanted = true;
  std::unique_lock lock(mutex);
  for (size_t reported = 0; wanted && reported < count;) {
    one_is_done.wait_for(lock, kPause, [&] { return done > reported; });
    reported = done;
    lock.unlock();
    wanted = report(reported);
    lock.lock();
    if (!wanted) next = count;
  }
  return wanted;
}

void in_threads(size_t count, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next = 0;
  const auto take_pieces = [&] {
    for (size_t mine = next++; mine < count; mine = next++) work(mine);
  };
  const size_t threads = std::min<size_t>(count, std::thread::hardware_concurrency());
  std::vector<std::jthread> others;
  for (size_t t = 1; t < threads; ++t) others.emplace_back(take_pieces);
  take_pieces();
}

}  // namespace dprof
