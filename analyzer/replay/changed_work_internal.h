// SPDX-License-Identifier: Apache-2.0
// Changes of what ranks do by themselves: a rank as its peers, less of a kind of work.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/replay/change.h"
#include "analyzer/replay/grounds_internal.h"
#include "analyzer/replay/played_run.h"

namespace dprof::analyzer {

// What takes a change returns "", or why it cannot be made.
class ChangedWork {
 public:
  // Pieces that others' take the place of change in `durations` at once.
  ChangedWork(const PlayedRun& run, Grounds& grounds, std::vector<int64_t>& durations)
      : run_(run),
        grounds_(grounds),
        durations_(durations),
        factors_(run.ranks.size() * run.work_kinds.size(), 1) {}

  // Of a change that is one of own work.
  [[nodiscard]] std::string take(const Change& change);
  // Computation beside transfers takes that share.
  void speed_up_beside(double factor);
  // All that is scaled.
  void apply() { scale_works(durations_, factors_); }
  // In passes that do not update; computation beside transfers, which are gone, takes that share.
  // `ahead`: the host, which does not wait for the device then, runs ahead of it.
  void drop_updates(std::vector<int64_t>& durations, double beside, bool ahead) const;
  [[nodiscard]] int64_t longer_ns() const { return longer_ns_; }  // each step

 private:
  template <typename Factor>
  void for_kinds(std::vector<double>& factors, const std::optional<size_t>& entry,
                 const Factor& factor) const;
  // By entry: chosen work in all steps.
  template <typename Chosen>
  [[nodiscard]] std::vector<int64_t> own_ns(const Chosen& chosen) const;
  template <typename Chosen>
  std::string scale(double factor, std::string_view nothing, const Chosen& chosen);
  void scale_works(std::vector<int64_t>& durations, const std::vector<double>& factors) const;
  std::string take_ranks(const Change& change);
  std::string take_stragglers();
  [[nodiscard]] bool any_message() const;
  [[nodiscard]] bool one_pipeline() const;
  void even_totals();
  std::string take_sync();
  std::string take_launch();
  std::string take_kernel(const Change& change);
  std::string take_op(const Change& change);
  std::string take_gc(const Change& change);
  size_t as_others(const std::vector<bool>& changed, bool with_themselves);
  void replace(const SpotWork& spot, int64_t ns);

  const PlayedRun& run_;
  Grounds& grounds_;
  std::vector<int64_t>& durations_;
  std::vector<double> factors_;  // by entry and kind of work
  int64_t longer_ns_ = 0;
};

}  // namespace dprof::analyzer
