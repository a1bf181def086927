// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/checkpoint.h"

#include <torch/serialize/output-archive.h>

namespace dprof::trainer_harness {

void save_checkpoint(const std::filesystem::path& folder, const Model& model,
                     const torch::optim::Optimizer& optimizer, int64_t epoch, int64_t step) {
  std::filesystem::create_directories(folder);
  torch::serialize::OutputArchive archive;
  torch::serialize::OutputArchive parameters(archive.compilation_unit());
  model.save(parameters);
  archive.write("model", parameters);
  torch::serialize::OutputArchive state(archive.compilation_unit());
  optimizer.save(state);
  archive.write("optimizer", state);
  archive.write("epoch", c10::IValue(epoch));
  archive.write("step", c10::IValue(step));

  const std::filesystem::path part = folder / "checkpoint.pt.part";
  archive.save_to(part.string());
  std::filesystem::rename(part, folder / "checkpoint.pt");
}

}  // namespace dprof::trainer_harness
