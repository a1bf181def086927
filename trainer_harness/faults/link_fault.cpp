// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/faults/lasting_fault.h"
#include "trainer_harness/faults/slow_link.h"

namespace dprof::trainer_harness {
namespace {

class LinkFault : public LastingFault {
 public:
  explicit LinkFault(const Fault& fault) {
    if (fault.rate_mbit > 0) limit_.rate_mbit = fault.rate_mbit;
    limit_.delay_ms = fault.delay_ms;
    limit_.loss = fault.loss;
  }

  void begin() override { link_.apply(limit_); }
  void end() override { link_.lift(); }

  [[nodiscard]] std::vector<Deed> deeds(size_t fault) const override {
    std::vector<Deed> deeds;
    if (limit_.rate_mbit) deeds.push_back({fault, "rate_mbit", *limit_.rate_mbit});
    if (limit_.delay_ms > 0) deeds.push_back({fault, "delay_ms", limit_.delay_ms});
    if (limit_.loss > 0) deeds.push_back({fault, "loss", limit_.loss});
    return deeds;
  }

 private:
  LinkLimit limit_;
  SlowLink link_;
};

}  // namespace

std::unique_ptr<LastingFault> make_link_fault(const Fault& fault) {
  return std::make_unique<LinkFault>(fault);
}

}  // namespace dprof::trainer_harness
