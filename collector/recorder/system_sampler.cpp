// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/system_sampler.h"

namespace dprof::recorder {

void SystemSampler::sample(const std::vector<Sampled>&) {}

}  // namespace dprof::recorder
