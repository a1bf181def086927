// SPDX-License-Identifier: Apache-2.0
// Changes to the ranks' own work: a rank like its peers, less of a kind of work.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/replay/change.h"
#include "analyzer/replay/grounds_internal.h"
#include "analyzer/replay/played_run.h"

namespace dprof::analyzer {

// Whether that change of work, of other than ranks and hosts, can alter work of that kind.
[[nodiscard]] bool can_change(const Change& change, const WorkKind& kind, bool on_device);

// The take functions return "", or why the change cannot be made.
class ChangedWork {
 public:
  // Pieces replaced by those of other ranks change in `durations` immediately.
  ChangedWork(const PlayedRun& run, Grounds& grounds, std::vector<int64_t>& durations)
      : run_(run),
        grounds_(grounds),
        durations_(durations),
        factors_(run.ranks.size() * run.work_kinds.size(), 1) {}

  // For a change of own work.
  [[nodiscard]] std::string take(const Change& change);
  // Scales computation that overlaps transfers.
  void speed_up_beside(double factor);
  // Applies all scaling factors.
  void apply() { scale_works(durations_, factors_, captured_); }
  // For passes without an update; computation that overlapped the removed transfers is scaled by
  // `beside`. `ahead`: the host, which then does not wait for the device, runs ahead of it.
  void drop_updates(std::vector<int64_t>& durations, double beside, bool ahead) const;
  [[nodiscard]] int64_t longer_ns() const { return longer_ns_; }  // each step

 private:
  template <typename Factor>
  void for_kinds(std::vector<double>& factors, const std::optional<size_t>& entry,
                 const Factor& factor) const;
  // By entry: the selected work in all steps.
  template <typename Chosen>
  [[nodiscard]] std::vector<int64_t> own_ns(const Chosen& chosen) const;
  // The selected work by entry and step.
  template <typename Chosen>
  [[nodiscard]] std::vector<int64_t> own_ns_by_step(const Chosen& chosen) const;
  // The kinds that the change can alter.
  std::string scale(const Change& change, double factor, std::string_view nothing);
  // `captured`: as captured_, or empty.
  void scale_works(std::vector<int64_t>& durations, const std::vector<double>& factors,
                   const std::vector<double>& captured) const;
  std::string take_ranks(const Change& change);
  std::string take_stragglers();
  [[nodiscard]] bool any_message() const;
  [[nodiscard]] bool one_pipeline() const;
  void even_totals();
  std::string take_sync();
  std::string take_launch();
  [[nodiscard]] std::vector<int64_t> most_captured(std::span<const int64_t> of_steps) const;
  std::string take_kernel(const Change& change);
  std::string take_op(const Change& change);
  std::string take_gc(const Change& change);
  size_t as_others(const std::vector<bool>& changed, bool with_themselves);
  void replace(const SpotWork& spot, int64_t ns);

  const PlayedRun& run_;
  Grounds& grounds_;
  std::vector<int64_t>& durations_;
  std::vector<double> factors_;   // by entry and kind of work
  std::vector<double> captured_;  // by entry and step: what a graph leaves of capturable work
  int64_t longer_ns_ = 0;
};

}  // namespace dprof::analyzer
