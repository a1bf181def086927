// SPDX-License-Identifier: Apache-2.0
// The last lines that each rank of -n wrote to its standard error: what a rank says before it dies.
// In memory that is shared with forked processes, so that the carrier of the output can die.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace dprof::recorder {

// Threading  one process adds for a rank at a time; last_lines() once it has ended.
class KeptOutput {
 public:
  static constexpr size_t kBytes = 32768;  // of each rank
  static constexpr int kLines = 50;

  // `lines`: so many at most; 0 keeps none. Where there is no memory, none either.
  KeptOutput(int ranks, int lines);
  ~KeptOutput();
  KeptOutput(const KeptOutput&) = delete;
  KeptOutput& operator=(const KeptOutput&) = delete;

  void add(int rank, std::string_view bytes);
  // Without what a carriage return overwrote (progress bars); may begin within a line.
  [[nodiscard]] std::string last_lines(int rank) const;

 private:
  struct Ring {
    std::atomic<uint64_t> written;
    char bytes[kBytes];
  };

  [[nodiscard]] Ring* ring(int rank) const;

  Ring* rings_ = nullptr;
  int ranks_;
  int lines_;
};

}  // namespace dprof::recorder
