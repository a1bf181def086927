// SPDX-License-Identifier: Apache-2.0
// dprof-trainer: a reference training job for distributed data parallelism, in C++ on LibTorch.
//
// Exit codes: 0 trained; 1 training failed, or the ranks ended with different parameters; 2 usage.
#include <CLI/CLI.hpp>
#include <string>

#include "trainer_harness/settings/log.h"
#include "trainer_harness/settings/options.h"
#include "trainer_harness/trainer.h"

int main(int argc, char** argv) {
  using namespace dprof::trainer_harness;
  constexpr int kFailed = 1;
  constexpr int kUsage = 2;

  CLI::App app(
      "Trains a small model with distributed data parallelism. A launcher starts one process per "
      "rank\n"
      "and sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT; without them it is a single "
      "process.",
      "dprof-trainer");
  try {
    Options options;
    declare_options(app, options, trainable_models());
    app.parse(argc, argv);
    run_trainer(options);
    return 0;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    log_error(std::string(error.what()) + "\nhint: dprof-trainer --help lists the options");
    return kUsage;
  } catch (const UsageError& error) {
    log_error(error.what());
    return kUsage;
  } catch (const std::exception& error) {
    log_error(error.what());
    return kFailed;
  }
}
