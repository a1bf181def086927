// SPDX-License-Identifier: Apache-2.0
// Transfers that share links fairly: each of n transfers on a link gets an n-th of it; a transfer
// runs at the speed of its slowest link.
//
// Threading  none. Cost: O(links of the transfer + transfers on them) per begin and end.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace dprof::synth {

class Network {
 public:
  explicit Network(size_t links) : active_(links) {}

  // `ns`: its length when alone.
  size_t begin(std::vector<int> links, double ns, int64_t now);
  void end(size_t transfer, int64_t now);

  // When it ends if nothing changes; and the transfers whose forecasts the last call changed.
  [[nodiscard]] int64_t forecast(size_t transfer) const { return transfers_[transfer].end; }
  [[nodiscard]] uint32_t version(size_t transfer) const { return transfers_[transfer].version; }
  [[nodiscard]] const std::vector<size_t>& changed() const { return changed_; }

 private:
  struct Transfer {
    std::vector<int> links;
    double left = 0;  // ns of work
    double share = 1;
    int64_t since = 0;
    int64_t end = 0;
    uint32_t version = 0;
    bool active = false;
  };
  void settle(const std::vector<int>& links, int64_t now);

  std::vector<std::vector<size_t>> active_;  // by link
  std::vector<Transfer> transfers_;
  std::vector<size_t> free_;
  std::vector<size_t> changed_;
};

}  // namespace dprof::synth
