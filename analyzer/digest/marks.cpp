// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/marks.h"

#include <algorithm>
#include <optional>

namespace dprof::analyzer {
namespace {

// Finds the complete step that contains a whole range.
class StepFinder {
 public:
  explicit StepFinder(const std::vector<StepRecord>& steps) : steps_(steps) {
    for (size_t i = 0; i < steps.size(); ++i) order_.push_back(i);
    std::ranges::stable_sort(order_, {}, [&](size_t i) { return steps_[i].window.begin; });
  }

  [[nodiscard]] std::optional<size_t> around(Interval span) const {
    const auto next = std::ranges::upper_bound(order_, span.begin, {},
                                               [&](size_t i) { return steps_[i].window.begin; });
    if (next == order_.begin()) return std::nullopt;
    const size_t step = *std::prev(next);
    return span.end <= steps_[step].window.end ? std::optional(step) : std::nullopt;
  }

 private:
  const std::vector<StepRecord>& steps_;
  std::vector<size_t> order_;
};

bool is_phase_name(std::string_view name) {
  return std::ranges::find(schema::kPhaseNames, name) != std::end(schema::kPhaseNames);
}

}  // namespace

void MarkGatherer::add(std::string_view name, Interval span) {
  while (!open_.empty() && open_.back() <= span.begin) open_.pop_back();
  if (open_.size() > kDeepest) return;
  open_.push_back(span.end);
  auto entry = known_.find(name);
  if (entry == known_.end()) {
    if (names_.size() >= kMostNames) {
      ++left_out_;
      return;
    }
    entry = known_.emplace(std::string(name), names_.size()).first;
    names_.emplace_back(name);
  }
  if (marks_.size() >= kMostMarks) {
    ++left_out_;
    return;
  }
  marks_.push_back({span, entry->second});
}

void MarkGatherer::settle(RankDigest& digest) && {
  digest.marks_left_out = left_out_;
  std::ranges::stable_sort(marks_, [](const Mark& a, const Mark& b) {
    return a.span.begin != b.span.begin ? a.span.begin < b.span.begin : a.span.end > b.span.end;
  });
  std::vector<bool> listed;
  for (const std::string& name : names_) listed.push_back(is_phase_name(name));
  const auto holder = known_.find(schema::kMicroStepName);
  const size_t holder_name = holder == known_.end() ? names_.size() : holder->second;

  const StepFinder steps(digest.steps);
  std::vector<std::optional<size_t>> phase_of(names_.size());
  TraceNs covered_to{INT64_MIN};  // by ranges in which only listed names count
  for (const Mark& mark : marks_) {
    const std::optional<size_t> step = steps.around(mark.span);
    if (!step) continue;
    const bool outermost = mark.span.begin >= covered_to;
    if (outermost && mark.name != holder_name) covered_to = mark.span.end;
    if (!outermost && !listed[mark.name]) continue;
    std::optional<size_t>& phase = phase_of[mark.name];
    if (!phase) {
      if (digest.marked.size() >= kMostPhases) {
        ++digest.marks_left_out;
        continue;
      }
      phase = digest.marked.size();
      digest.marked.push_back({names_[mark.name], {}});
    }
    std::vector<MarksInStep>& in_steps = digest.marked[*phase].in_steps;
    if (in_steps.empty() || in_steps.back().step != *step) in_steps.push_back({*step, 0, 0});
    ++in_steps.back().count;
    in_steps.back().total_ns += mark.span.length().ns;
  }
}

}  // namespace dprof::analyzer
