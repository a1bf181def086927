// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/techniques/checkpoint.h"

#include <torch/serialize/output-archive.h>

#include "trainer_harness/settings/usage_error.h"

namespace dprof::trainer_harness {

void save_checkpoint(Context& context, Strategy& strategy,
                     const torch::optim::Optimizer* optimizer) {
  if (context.rank() != 0) return;
  const std::filesystem::path& folder = context.options.output.checkpoint;
  std::filesystem::create_directories(folder);
  const auto save = [&folder](torch::serialize::OutputArchive& archive, const char* name) {
    const std::filesystem::path part = folder / (std::string(name) + ".part");
    archive.save_to(part.string());
    std::filesystem::rename(part, folder / name);
  };
  torch::serialize::OutputArchive parameters;
  strategy.model().save(parameters);
  save(parameters, "model.pt");
  if (optimizer != nullptr) {
    torch::serialize::OutputArchive state;
    optimizer->save(state);
    save(state, "optimizer.pt");
  }
  context.log.info("saved " + (folder / "model.pt").string());
}

void resume_checkpoint(Context&, Strategy&, torch::optim::Optimizer*) {
  throw UsageError("--resume is not part of this build");
}

}  // namespace dprof::trainer_harness
