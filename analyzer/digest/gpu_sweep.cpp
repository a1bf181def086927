// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/gpu_sweep.h"

#include <algorithm>
#include <queue>

namespace dprof::analyzer {
namespace {

// Possibly active activities of one class, the one that began last on top. An ended one below an
// active one does no harm, and is removed when it reaches the top.
class LatestBegun {
 public:
  void add(const Activity& activity) { begun_.push_back(&activity); }
  // The active one at `at` that began last; nullptr = none.
  const Activity* at(TraceNs at) {
    while (!begun_.empty() && begun_.back()->end <= at) begun_.pop_back();
    return begun_.empty() ? nullptr : begun_.back();
  }

 private:
  std::vector<const Activity*> begun_;
};

class LastToEnd {
 public:
  void add(const Activity& activity) { active_.push(&activity); }
  const Activity* at(TraceNs at) {
    // The top ends last: if it has ended, all have.
    if (!active_.empty() && active_.top()->end <= at) active_ = {};
    return active_.empty() ? nullptr : active_.top();
  }

 private:
  struct EndsEarlier {
    bool operator()(const Activity* a, const Activity* b) const { return a->end < b->end; }
  };
  std::priority_queue<const Activity*, std::vector<const Activity*>, EndsEarlier> active_;
};

class Sweep {
 public:
  Sweep(std::span<const Activity> activities, Interval span, std::span<const LaunchCall> launches,
        const GapClassifier& gaps)
      : activities_(activities), span_(span), launches_(launches), gaps_(gaps) {}

  std::vector<DevicePiece> run() && {
    // Usually one and a gap. Growing a vector of millions briefly takes twice its memory.
    pieces_.reserve(2 * activities_.size() + 1);
    for (TraceNs at = span_.begin; at < span_.end;) {
      begin_all(at);
      const Activity* compute = compute_.at(at);
      const Activity* comm = communication_.at(at);
      const Activity* copy = copies_.at(at);
      TraceNs end = next_ < activities_.size() ? activities_[next_].begin : span_.end;
      if (compute == nullptr && comm == nullptr && copy == nullptr) {
        idle({at, end});
      } else {
        for (const Activity* active : {compute, comm, copy}) {
          if (active != nullptr) end = std::min(end, active->end);
        }
        busy(at, compute, comm, copy);
      }
      at = end;
    }
    return std::move(pieces_);
  }

 private:
  void begin_all(TraceNs at) {
    for (; next_ < activities_.size() && activities_[next_].begin <= at; ++next_) {
      const Activity& activity = activities_[next_];
      if (activity.launch != kNoRange)
        last_thread_ = launches_[static_cast<size_t>(activity.launch)].thread;
      switch (activity.what) {
        case ActivityClass::kCompute:
          compute_.add(activity);
          break;
        case ActivityClass::kCommunication:
          communication_.add(activity);
          break;
        case ActivityClass::kCopy:
          copies_.add(activity);
          break;
      }
    }
  }

  void busy(TraceNs at, const Activity* compute, const Activity* comm, const Activity* copy) {
    DevicePiece piece{.begin = at};
    if (comm != nullptr) piece.collective = comm->subject;
    if (compute != nullptr) {
      piece.category = comm != nullptr ? Category::kOverlapped : compute->phase;
      piece.phase = compute->phase;
    } else if (comm != nullptr) {
      piece.category = piece.phase = Category::kExposedTransfer;
    } else {
      piece.category = Category::kCopy;
      piece.phase = copy->phase;
      piece.detail = copy->copy;
    }
    add(piece);
  }

  void idle(Interval span) {
    const Gap gap{span, next_ < activities_.size() ? &activities_[next_] : nullptr, last_thread_};
    gaps_.classify(gap, [this](TraceNs begin, Category category, HostDetail detail) {
      add({begin, kNoCollective, category, category, detail});
    });
  }

  void add(const DevicePiece& piece) {
    if (pieces_.empty() || !pieces_.back().same_but_begin(piece)) pieces_.push_back(piece);
  }

  std::span<const Activity> activities_;
  const Interval span_;
  std::span<const LaunchCall> launches_;
  const GapClassifier& gaps_;
  size_t next_ = 0;
  int32_t last_thread_ = kNoRange;
  LatestBegun compute_, copies_;
  LastToEnd communication_;
  std::vector<DevicePiece> pieces_;
};

}  // namespace

std::vector<DevicePiece> sweep_device(std::span<const Activity> activities, Interval span,
                                      std::span<const LaunchCall> launches,
                                      const GapClassifier& gaps) {
  return Sweep(activities, span, launches, gaps).run();
}

}  // namespace dprof::analyzer
