// SPDX-License-Identifier: Apache-2.0
#include "tests/generated/replayed_run.h"

#include "analyzer/align/align.h"
#include "analyzer/breakdown/lattice.h"
#include "analyzer/digest/all.h"
#include "analyzer/match/match.h"
#include "analyzer/replay/step_lengths.h"
#include "base/check.h"
#include "tests/support/temporary_folder.h"

namespace dprof {

double ReplayedRun::recorded_ns() const { return analyzer::mean_of(replayer->recorded()); }

double ReplayedRun::gain_ns(const analyzer::Replacement& replacement) const {
  return analyzer::mean_of(replayer->gain_of(replacement));
}

ReplayedRun replayed(const synth::Spec& spec) {
  const test_support::TemporaryFolder folder;
  const auto path = folder.path() / "run";
  Result<synth::Truth> truth = synth::generate(spec, path);
  DPROF_CHECK(truth.ok());
  const Result<analyzer::Run> run = analyzer::open_run({path});
  DPROF_CHECK(run.ok());
  auto results =
      analyzer::digest_all(run->traces, false, [](std::string_view, double) { return true; });
  DPROF_CHECK(results.ok());
  std::vector<analyzer::RankDigest> digests;
  for (auto& digest : *results) {
    DPROF_CHECK(digest.ok());
    digests.push_back(*std::move(digest));
  }
  analyzer::Matching matching = analyzer::match_collectives(digests);
  const analyzer::Alignment alignment = analyzer::align_clocks(run->traces, digests, matching);
  analyzer::put_on_axis(alignment, digests);
  analyzer::settle_times(matching, digests, alignment);
  analyzer::attach_steps(matching, digests);
  std::vector<analyzer::Diagnostic> notes;
  ReplayedRun replayed{*std::move(truth), analyzer::align_steps(digests, {}, notes), nullptr};
  if (!replayed.steps) return replayed;
  std::vector<analyzer::Lattice> pieces(digests.size());
  for (const size_t d : replayed.steps->ranks)
    pieces[d] = analyzer::lattice_of(digests[d], analyzer::comm_spans(digests, matching, d));
  replayed.replayer = analyzer::Replayer::make(digests, *replayed.steps, matching, pieces);
  return replayed;
}

}  // namespace dprof
