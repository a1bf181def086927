// SPDX-License-Identifier: Apache-2.0
// Slows the traffic that this host sends: `--inject slow-link`.
//
// Works only within a host of scripts/hosts, whose interface exists only for the run. The rate is a
// token bucket (tc's tbf) on that interface; delay and loss are tc's netem if the kernel has it,
// else a forwarding process of scripts/hosts. Incoming traffic is not affected.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trainer_harness/ranks/rendezvous.h"

namespace dprof::trainer_harness {

struct LinkLimit {
  std::optional<double> rate_mbit;  // 10^6 bits per second, of Ethernet frames; none: not limited
  double delay_ms = 0;              // one way, for each frame
  double loss = 0;                  // share of frames lost
};

// Threading: one thread at a time. Cost: apply() and lift() run tc once or twice, some milliseconds
// each; in between there is none.
class SlowLink {
 public:
  // Takes the interface and the host from the environment: GLOO_SOCKET_IFNAME, DPROF_HOST_NETWORK,
  // DPROF_LINK_CONTROL. Throws UsageError if no link may be slowed, or another process controls it.
  explicit SlowLink(const Environment& environment = process_environment);
  SlowLink(const SlowLink&) = delete;
  SlowLink& operator=(const SlowLink&) = delete;
  ~SlowLink();  // lifts; so does scripts/hosts if the process is killed

  // Replaces any earlier limit. Throws UsageError for a limit that makes no sense or that the
  // kernel rejects; the link is then unlimited.
  void apply(const LinkLimit& limit);

  void lift();

 private:
  void ask_forwarder(const std::string& request);
  void lift_quietly();

  std::string interface_;
  int control_ = -1;  // to scripts/hosts; closing it lifts every limit
  bool queue_set_ = false;
  bool forwarded_ = false;
};

// The arguments of each tc call for `limit`: the whole limit with netem, otherwise only the rate.
[[nodiscard]] std::vector<std::vector<std::string>> tc_commands(const std::string& interface,
                                                                const LinkLimit& limit,
                                                                bool has_netem);

// One line: the mechanisms that slow a link on this machine, or why none works. Tries them in a
// separate network namespace and touches no interface of the machine.
[[nodiscard]] std::string slow_link_means();

}  // namespace dprof::trainer_harness
