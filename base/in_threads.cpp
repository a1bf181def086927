// SPDX-License-Identifier: Apache-2.0
#include "base/in_threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace dprof {
namespace {

size_t or_cores(size_t threads) {
  return threads != 0 ? threads : std::max<size_t>(1, std::thread::hardware_concurrency());
}

// Threads that take one piece of work after the other.
class Workers {
 public:
  Workers(size_t count, const std::function<void(size_t)>& work) : count_(count), work_(work) {}

  // Fewer, or none, where the system refuses more.
  void start(size_t threads) {
    try {
      while (threads_.size() < std::min(threads, count_))
        threads_.emplace_back([this] { take_pieces(); });
    } catch (const std::system_error&) {
    }
  }
  [[nodiscard]] bool any() const { return !threads_.empty(); }

  void take_pieces() {
    for (size_t mine = next_++; mine < count_; mine = next_++) {
      std::exception_ptr failure;
      try {
        work_(mine);
      } catch (...) {
        failure = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      ++done_;
      if (failure && !failure_) failure_ = failure;
      if (failure) stop();
      changed_.notify_one();
    }
  }

  // Begins no further piece.
  void stop() { next_ = count_; }

  // The number of pieces done: at once if they are more than `known`, or after a pause.
  size_t wait_for_more(size_t known) {
    constexpr std::chrono::milliseconds kPause{20};
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPause, [&] { return done_ > known; });
    return done_;
  }
  [[nodiscard]] bool failed() {
    const std::lock_guard lock(mutex_);
    return failure_ != nullptr;
  }

  // Waits for all; what a piece has thrown is thrown again.
  void end() {
    threads_.clear();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  const size_t count_;
  const std::function<void(size_t)>& work_;
  std::atomic<size_t> next_ = 0;
  std::mutex mutex_;  // protects the two below
  size_t done_ = 0;
  std::exception_ptr failure_;
  std::condition_variable changed_;
  std::vector<std::jthread> threads_;  // last: joined before the rest goes
};

}  // namespace

bool in_threads(size_t count, size_t threads, const std::function<void(size_t)>& work,
                const std::function<bool(size_t)>& report) {
  Workers workers(count, work);
  workers.start(or_cores(threads));
  if (!workers.any()) workers.take_pieces();
  bool wanted = true;
  for (size_t reported = 0; wanted && reported < count && !workers.failed();) {
    reported = workers.wait_for_more(reported);
    wanted = report(reported);
  }
  if (!wanted) workers.stop();
  workers.end();
  return wanted;
}

void in_threads(size_t count, size_t threads, const std::function<void(size_t)>& work) {
  Workers workers(count, work);
  workers.start(std::min(or_cores(threads), count) - (count > 0 ? 1 : 0));
  workers.take_pieces();
  workers.end();
}

}  // namespace dprof
