// SPDX-License-Identifier: Apache-2.0
// Makes what this host sends slow: `--inject slow-link`.
//
// Only within a host of scripts/hosts, whose interface exists for the run alone. The rate is a
// token bucket (tc's tbf) on that interface; delay and loss are tc's netem where the kernel has it,
// else a forwarding process of scripts/hosts. What the others send to this host is left alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trainer_harness/ranks/rendezvous.h"

namespace dprof::trainer_harness {

struct LinkLimit {
  std::optional<double> rate_mbit;  // 10^6 bits per second, of Ethernet frames; none: as it is
  double delay_ms = 0;              // one way, for each frame
  double loss = 0;                  // share of the frames that never arrive
};

// Threading: one thread at a time. Cost: apply() and lift() run tc once or twice, some milliseconds
// each; between them nothing is done here.
class SlowLink {
 public:
  // The interface and the host are those of the environment: GLOO_SOCKET_IFNAME,
  // DPROF_HOST_NETWORK, DPROF_LINK_CONTROL. Throws UsageError where there is no link that may be
  // slowed, or another process has slowed it.
  explicit SlowLink(const Environment& environment = process_environment);
  SlowLink(const SlowLink&) = delete;
  SlowLink& operator=(const SlowLink&) = delete;
  ~SlowLink();  // lifts; so does scripts/hosts if the process is killed

  // From now on, in place of an earlier limit. Throws UsageError for a limit that makes no sense or
  // that the kernel refuses; then the link is as it was without any.
  void apply(const LinkLimit& limit);

  void lift();

 private:
  void ask_forwarder(const std::string& request);
  void lift_quietly();

  std::string interface_;
  int control_ = -1;  // to scripts/hosts; its end lifts every limit
  bool queue_set_ = false;
  bool forwarded_ = false;
};

// The arguments of each call of tc for `limit`: with netem all of it, else the rate alone.
[[nodiscard]] std::vector<std::vector<std::string>> tc_commands(const std::string& interface,
                                                                const LinkLimit& limit,
                                                                bool has_netem);

// By what a link is slowed on this machine, or why it cannot be, in one line. Tries it in a network
// namespace of its own and touches no interface of the machine.
[[nodiscard]] std::string slow_link_means();

}  // namespace dprof::trainer_harness
