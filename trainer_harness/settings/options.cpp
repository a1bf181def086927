// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/settings/options.h"

#include "trainer_harness/settings/declare.h"

namespace dprof::trainer_harness {

void declare_options(CLI::App& app, Options& options) {
  declare_training(app, options);
  declare_data(app, options);
  declare_strategy(app, options);
  declare_communication(app, options);
  declare_output(app, options);
  declare_launch(app, options);
  declare_faults(app, options);
}

StrategyKind chosen_strategy(const Options& options, bool has_ranks) {
  return options.distribution.strategy.value_or(has_ranks ? StrategyKind::kDdp
                                                          : StrategyKind::kSingle);
}

}  // namespace dprof::trainer_harness
