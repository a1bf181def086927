// SPDX-License-Identifier: Apache-2.0
// The last lines that each rank of -n wrote to its standard error, to show why it died. In memory
// shared with forked processes, so that they outlive the carrier of the output.
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

  // `lines`: the maximum; 0 keeps none. Without memory none are kept either.
  KeptOutput(int ranks, int lines);
  ~KeptOutput();
  KeptOutput(const KeptOutput&) = delete;
  KeptOutput& operator=(const KeptOutput&) = delete;

  void add(int rank, std::string_view bytes);
  // Without text overwritten after a carriage return (progress bars); can begin within a line.
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
