// SPDX-License-Identifier: Apache-2.0
// Faults that last over whole steps and take something from the rank from outside: its core, its
// link.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "trainer_harness/faults/truth.h"

namespace dprof::trainer_harness {

// Used by the training thread. What it changes, its destructor puts right.
class LastingFault {
 public:
  LastingFault() = default;
  LastingFault(const LastingFault&) = delete;
  LastingFault& operator=(const LastingFault&) = delete;
  virtual ~LastingFault() = default;

  // From now on; until now. By turns. Throw.
  virtual void begin() = 0;
  virtual void end() = 0;

  // What it really did, for the fault of this index; after the last end().
  [[nodiscard]] virtual std::vector<Deed> deeds(size_t fault) const = 0;
};

// A process that does nothing but use the core to which all threads of this one are bound for the
// time. It ends with this process, however that ends.
[[nodiscard]] std::unique_ptr<LastingFault> make_cpu_contention();

// Binds all threads to the core where the caller is, or, `shared`, to the first one that the
// process may use, which is the same on all ranks of a host.
[[nodiscard]] std::unique_ptr<LastingFault> make_pinned_core(bool shared);

// Slows what this host sends (slow_link.h). Throws UsageError where there is no such link.
[[nodiscard]] std::unique_ptr<LastingFault> make_link_fault(const Fault& fault);

}  // namespace dprof::trainer_harness
