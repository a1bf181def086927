// SPDX-License-Identifier: Apache-2.0
// dprof-trainer: a reference job of distributed training, in C++ on LibTorch.
//
// Exit codes: 0 trained; 1 training failed, or the ranks ended with different parameters; 2 usage.
// --spawn exits with the first failing rank's code, or 128 + signal if a signal ended it. --matrix
// exits with 1 if a run did not end as expected.
#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include "trainer_harness/common/log.h"
#include "trainer_harness/common/usage_error.h"
#include "trainer_harness/faults/slow_link.h"
#include "trainer_harness/launch/check_env.h"
#include "trainer_harness/launch/matrix.h"
#include "trainer_harness/launch/spawn.h"
#include "trainer_harness/settings/catalogue.h"
#include "trainer_harness/settings/check_options.h"
#include "trainer_harness/settings/options.h"
#include "trainer_harness/trainer.h"

namespace dprof::trainer_harness {
namespace {

constexpr const char* kAbout =
    "Trains a model in one of the ways of distributed training. A launcher starts one process per\n"
    "rank and sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT; --spawn N does so itself;\n"
    "without either it is a single process.";

int run_program(const std::vector<std::string>& arguments);

int run(const Options& options, const std::vector<std::string>& arguments) {
  if (options.launch.list) {
    std::cout << list_text(trainable_models(), slow_link_means());
    return 0;
  }
  if (options.launch.check_env) {
    std::cout << environment_text();
    return 0;
  }
  if (!is_spawned(process_environment)) {
    check_launch(options);
    if (!options.launch.matrix.empty()) {
      return run_matrix(options,
                        without_options(arguments, {"--matrix", "--matrix-command", "--truth"}));
    }
    if (options.launch.spawn) {
      check_options(options, {true, *options.launch.spawn * options.launch.nodes.value_or(1)});
      return spawn_ranks(options, arguments, run_program);
    }
  }
  run_trainer(options);
  return 0;
}

int run_program(const std::vector<std::string>& arguments) {
  constexpr int kFailed = 1;
  CLI::App app(kAbout, "dprof-trainer");
  try {
    Options options;
    declare_options(app, options);
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    return run(options, arguments);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    log_error(std::string(error.what()) + "\nhint: dprof-trainer --help lists the options");
    return UsageError::kExitCode;
  } catch (const UsageError& error) {
    log_error(error.what());
    return UsageError::kExitCode;
  } catch (const std::exception& error) {
    log_error(error.what());
    return kFailed;
  }
}

}  // namespace
}  // namespace dprof::trainer_harness

int main(int argc, char** argv) {
  // As in Python: a rank that writes to one that is gone fails with a message, not without a word.
  (void)std::signal(SIGPIPE, SIG_IGN);
  return dprof::trainer_harness::run_program(std::vector<std::string>(argv + 1, argv + argc));
}
