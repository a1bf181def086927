// SPDX-License-Identifier: Apache-2.0
#include "tests/generated/generated_run.h"

#include "base/check.h"
#include "tests/support/temporary_folder.h"

namespace dprof {

Outcome analysed(const synth::Spec& spec) {
  const test_support::TemporaryFolder folder;
  const auto run_path = folder.path() / "run";
  const Result<synth::Truth> truth = synth::generate(spec, run_path);
  DPROF_CHECK(truth.ok());
  const Result<analyzer::Run> run = analyzer::open_run({run_path});
  DPROF_CHECK(run.ok());
  Result<analyzer::Analysis> analysis = analyzer::analyze(*run);
  DPROF_CHECK(analysis.ok());
  return {*truth, *std::move(analysis)};
}

}  // namespace dprof
