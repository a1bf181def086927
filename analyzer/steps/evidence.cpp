// SPDX-License-Identifier: Apache-2.0
#include "analyzer/steps/evidence.h"

#include <algorithm>
#include <utility>

#include "analyzer/steps/busy_rhythm.h"
#include "analyzer/steps/period.h"
#include "analyzer/steps/tokens.h"

namespace dprof::analyzer {
namespace {

// Of several forwards without a collective after them (gradients are accumulated) the first one.
// Forwards within forwards are layers; messages are a pipeline's.
std::vector<TraceNs> forwards_after_collectives(const RankDigest& digest) {
  std::vector<TraceNs> begins;
  auto next = digest.collectives.begin();
  bool reduced = true;
  TraceNs covered_to{INT64_MIN};
  for (const PhaseRange& phase : digest.phases) {
    if (phase.marker != schema::Marker::kForward || phase.span.begin < covered_to) continue;
    covered_to = phase.span.end;
    for (;
         next != digest.collectives.end() && next->arrival() && *next->arrival() < phase.span.begin;
         ++next) {
      const bool message =
          next->function == schema::Function::kSend || next->function == schema::Function::kRecv;
      reduced = reduced || !message;
    }
    if (reduced) begins.push_back(phase.span.begin);
    reduced = false;
  }
  return begins;
}

std::vector<TraceNs> first_buckets(const RankDigest& digest) {
  std::vector<TraceNs> begins;
  for (const CollectiveRecord& record : digest.collectives) {
    if (record.bucket == 0 && record.arrival()) begins.push_back(*record.arrival());
  }
  return begins;
}

std::optional<StepBegins> of_tokens(const Tokens& tokens, std::string by, bool within_steps) {
  const std::optional<Period> period = find_period(tokens.kinds, tokens.times);
  if (!period) return std::nullopt;
  StepBegins found{
      .by = std::move(by), .tokens = period->tokens, .begins = {}, .within_steps = within_steps};
  for (const size_t begin : period->begins) found.begins.push_back(tokens.times[begin]);
  return found;
}

std::optional<StepBegins> of_rhythm(const RankDigest& digest) {
  std::optional<std::vector<TraceNs>> begins =
      rhythm_of(union_of(digest.gpu.compute, digest.gpu.communication));
  if (!begins) return std::nullopt;
  return StepBegins{.by = "rhythm of the GPU's busy time",
                    .tokens = 0,
                    .begins = *std::move(begins),
                    .within_steps = false};
}

std::optional<StepBegins> of_moments(std::vector<TraceNs> begins, std::string by,
                                     bool within_steps) {
  if (begins.size() < kFewestOccurrences) return std::nullopt;
  return StepBegins{
      .by = std::move(by), .tokens = 0, .begins = std::move(begins), .within_steps = within_steps};
}

}  // namespace

BeginsFound find_begins(const RankDigest& digest) {
  BeginsFound found;
  const auto take = [&](std::optional<StepBegins> begins) {
    if (!begins) return false;
    if (!is_steady(begins->begins)) {
      if (found.unsteady.empty()) found.unsteady = begins->by;
      return false;
    }
    found.begins = std::move(begins);
    return true;
  };
  const bool taken = take(of_moments(forwards_after_collectives(digest), "forwards", false)) ||
                     take(of_moments(first_buckets(digest), "first buckets", true)) ||
                     take(of_tokens(tokens_of(digest.collectives), "order of collectives", true)) ||
                     take(of_tokens(tokens_of(digest.tokens), "order of operators", false)) ||
                     take(of_tokens(tokens_of(digest.gpu.tokens), "order of kernels", false)) ||
                     take(of_rhythm(digest));
  if (taken) found.unsteady.clear();
  return found;
}

}  // namespace dprof::analyzer
