// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/techniques/side_work.h"

#include <sstream>

namespace dprof::trainer_harness {

void SideWork::begin_epoch() {}

void SideWork::end_update(Strategy&, const torch::Tensor& loss, const Batch&, bool last_of_run) {
  note_loss(loss, last_of_run);
}

void SideWork::note_loss(const torch::Tensor& loss, bool last_of_run) {
  const int64_t step = context_.progress.step;
  if (!loss.defined()) return;
  if (step != 0 && !last_of_run && step % context_.options.training.loss_every != 0) return;
  const double value = loss.item<double>();  // waits for the device, so not in every step
  if (step == 0) truth_.first_loss = value;
  truth_.last_loss = value;
  if (step != 0 && !last_of_run && step % context_.options.output.log_every != 0) return;
  std::ostringstream line;
  line << "step " << step << " loss " << value;
  context_.log.info(line.str());
}

}  // namespace dprof::trainer_harness
