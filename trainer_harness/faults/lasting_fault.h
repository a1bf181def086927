// SPDX-License-Identifier: Apache-2.0
// Faults that last for whole steps and take a resource away from the rank: its core or its link.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "trainer_harness/faults/truth.h"

namespace dprof::trainer_harness {

// Used by the training thread. The destructor undoes all changes.
class LastingFault {
 public:
  LastingFault() = default;
  LastingFault(const LastingFault&) = delete;
  LastingFault& operator=(const LastingFault&) = delete;
  virtual ~LastingFault() = default;

  // Called alternately. Both can throw.
  virtual void begin() = 0;
  virtual void end() = 0;

  // The actual effects, recorded for the fault with this index; complete after the last end().
  [[nodiscard]] virtual std::vector<Deed> deeds(size_t fault) const = 0;
};

// Binds all threads of this process to one core and starts a process that keeps this core busy.
// That process ends with this one, however this one ends.
[[nodiscard]] std::unique_ptr<LastingFault> make_cpu_contention();

// Binds all threads to the caller's current core or, if `shared`, to the first core that the
// process may use, which is the same on all ranks of a host.
[[nodiscard]] std::unique_ptr<LastingFault> make_pinned_core(bool shared);

// Slows the traffic that this host sends (slow_link.h). Throws UsageError if it has no such link.
[[nodiscard]] std::unique_ptr<LastingFault> make_link_fault(const Fault& fault);

}  // namespace dprof::trainer_harness
