// SPDX-License-Identifier: Apache-2.0
// Assigns each nanosecond of a step to a category. The engine knows at each moment what the host,
// the device and the network did, and why an activity began no earlier; nothing is estimated.
#include <algorithm>

#include "synth/truth/truth.h"

namespace dprof::synth {
namespace {

constexpr int64_t kShortGapNs = 10'000;

Category compute_category(Busy busy) {
  switch (busy) {
    case Busy::kForward:
      return Category::kForward;
    case Busy::kBackward:
      return Category::kBackward;
    case Busy::kOptimizer:
      return Category::kOptimizer;
    default:
      return Category::kOtherCompute;
  }
}

// A moment at which something begins or ends.
struct Edge {
  int64_t at = 0;
  int32_t change = 0;  // +1 or -1
  size_t index = 0;
};

struct Stretch {
  int64_t begin = 0;
  int64_t end = 0;
  Category category{};
};

// The collectives running here, as a sweep advances in time.
class Communication {
 public:
  explicit Communication(const Trail& trail, int64_t end) {
    for (const WorkDone& w : trail.works) {
      if (w.start < kNever) spans_.push_back({w.start, std::min(w.end, end), w.last_start});
    }
    std::ranges::sort(spans_, {}, &Span::begin);
  }

  struct Span {
    int64_t begin;
    int64_t end;
    int64_t arrive;
  };

  // The last to end of those running at `at`; null = none.
  const Span* at(int64_t at) {
    std::erase_if(active_, [&](const Span* s) { return s->end <= at; });
    for (; next_ < spans_.size() && spans_[next_].begin <= at; ++next_) {
      if (spans_[next_].end > at) active_.push_back(&spans_[next_]);
    }
    const auto last = std::ranges::max_element(active_, {}, [](const Span* s) { return s->end; });
    return last == active_.end() ? nullptr : *last;
  }

  void borders(std::vector<int64_t>& out) const {
    for (const Span& s : spans_) {
      out.insert(out.end(), {s.begin, s.end});
      if (s.arrive > s.begin && s.arrive < s.end) out.push_back(s.arrive);
    }
  }

 private:
  std::vector<Span> spans_;
  std::vector<const Span*> active_;
  size_t next_ = 0;
};

Category exposed(const Communication::Span& span, int64_t at) {
  return at < span.arrive ? Category::kExposedWait : Category::kExposedTransfer;
}

Category host_category(Busy busy) {
  switch (busy) {
    case Busy::kInput:
      return Category::kInputWait;
    case Busy::kAllocator:
      return Category::kAllocator;
    case Busy::kWaitWork:
      return Category::kDependency;
    case Busy::kSync:
      return Category::kSyncBubble;
    default:
      return Category::kHost;
  }
}

// CPU: the training thread's pieces, and which of them overlap a collective. After the last
// collective of backward the thread wakes up: that counts as the host's time, not as a dependency.
std::vector<Stretch> cpu_stretches(const Trail& trail, int64_t end) {
  Communication communication(trail, end);
  std::vector<int64_t> borders;
  communication.borders(borders);
  std::ranges::sort(borders);
  std::vector<Stretch> stretches;
  size_t next = 0;
  for (const HostPiece& piece : trail.pieces) {
    int64_t at = piece.begin;
    while (at < piece.end) {
      while (next < borders.size() && borders[next] <= at) ++next;
      const int64_t upto = next < borders.size() ? std::min(piece.end, borders[next]) : piece.end;
      const Communication::Span* span = communication.at(at);
      const bool computes = piece.busy <= Busy::kOther;
      const Category category = computes && span != nullptr     ? Category::kOverlapped
                                : computes                      ? compute_category(piece.busy)
                                : span != nullptr               ? exposed(*span, at)
                                : piece.busy == Busy::kWaitWork ? Category::kHost
                                                                : host_category(piece.busy);
      stretches.push_back({at, upto, category});
      at = upto;
    }
  }
  return stretches;
}

class DeviceSweep {
 public:
  DeviceSweep(const Trail& trail, int64_t end) : trail_(trail), communication_(trail, end) {
    for (size_t i = 0; i < trail.activities.size(); ++i) {
      const ActivityDone& a = trail.activities[i];
      by_begin_.push_back(i);
      if (a.work >= 0 || a.end <= a.begin) continue;
      edges_.push_back({a.begin, 1, i});
      edges_.push_back({a.end, -1, i});
    }
    std::ranges::stable_sort(by_begin_, {}, [&](size_t i) { return trail.activities[i].begin; });
    std::ranges::stable_sort(edges_, {}, &Edge::at);
  }

  std::vector<Stretch> run() {
    std::vector<int64_t> borders;
    communication_.borders(borders);
    for (const Edge& edge : edges_) borders.push_back(edge.at);
    std::ranges::sort(borders);
    borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
    for (size_t i = 0; i + 1 < borders.size(); ++i) elementary(borders[i], borders[i + 1]);
    return std::move(stretches_);
  }

 private:
  void elementary(int64_t begin, int64_t end) {
    for (; next_edge_ < edges_.size() && edges_[next_edge_].at <= begin; ++next_edge_) {
      const Edge& edge = edges_[next_edge_];
      const bool kernel = trail_.activities[edge.index].kind == schema::GpuActivityKind::kKernel;
      (kernel ? kernels_ : copies_) += edge.change;
      if (kernel && edge.change > 0) last_kernel_ = edge.index;
    }
    const Communication::Span* span = communication_.at(begin);
    if (kernels_ > 0) {
      const Busy phase = trail_.activities[last_kernel_].phase;
      add(begin, end, span != nullptr ? Category::kOverlapped : compute_category(phase));
    } else if (span != nullptr) {
      add(begin, end, exposed(*span, begin));
    } else if (copies_ > 0) {
      add(begin, end, Category::kCopy);
    } else {
      gap(begin, end);
    }
  }

  void add(int64_t begin, int64_t end, Category category) {
    if (end > begin) stretches_.push_back({begin, end, category});
  }

  // Nothing runs until the activity that begins at `end`.
  void gap(int64_t begin, int64_t end) {
    while (next_activity_ < by_begin_.size() &&
           trail_.activities[by_begin_[next_activity_]].begin < end)
      ++next_activity_;
    if (next_activity_ == by_begin_.size()) return add(begin, end, Category::kIdle);
    const ActivityDone& next = trail_.activities[by_begin_[next_activity_]];
    if (next.call <= begin) {
      add(begin, end,
          next.bound == BoundBy::kDependency ? Category::kDependency
          : end - begin < kShortGapNs        ? Category::kLaunch
                                             : Category::kIdle);
      return;
    }
    const int64_t call = std::min(next.call, end);
    starvation(begin, call);
    add(call, end, Category::kLaunch);
  }

  // What the host did while the device was idle.
  void starvation(int64_t begin, int64_t end) {
    while (next_piece_ < trail_.pieces.size() && trail_.pieces[next_piece_].end <= begin)
      ++next_piece_;
    bool after_sync = false;
    int64_t at = begin;
    for (size_t p = next_piece_; p < trail_.pieces.size() && at < end; ++p) {
      const HostPiece& piece = trail_.pieces[p];
      const int64_t upto = std::min(piece.end, end);
      if (piece.busy == Busy::kSync) after_sync = true;
      Category category = host_category(piece.busy);
      if (after_sync && category == Category::kHost) category = Category::kSyncBubble;
      add(at, upto, category);
      at = std::max(at, upto);
    }
    add(at, end, Category::kHost);
  }

  const Trail& trail_;
  Communication communication_;
  std::vector<size_t> by_begin_;
  std::vector<Edge> edges_;
  size_t next_edge_ = 0;
  size_t next_activity_ = 0;
  size_t next_piece_ = 0;
  int kernels_ = 0;
  int copies_ = 0;
  size_t last_kernel_ = 0;
  std::vector<Stretch> stretches_;
};

// On a device a step lasts from the first activity launched in it to the first one launched in the
// next step, in order.
void set_windows(const Trail& trail, bool gpu, std::vector<StepTruth>& steps) {
  for (StepTruth& step : steps) {
    step.window_begin = step.begin;
    step.window_end = step.end;
  }
  if (!gpu || steps.empty()) return;
  std::vector<int64_t> first(steps.size(), kNever);
  int64_t last = 0;
  for (const ActivityDone& a : trail.activities) {
    const auto after = std::ranges::upper_bound(steps, a.call, {}, &StepTruth::begin);
    if (after == steps.begin()) continue;
    const auto s = static_cast<size_t>(after - steps.begin()) - 1;
    if (a.call < steps[s].end) {
      first[s] = std::min(first[s], a.begin);
      last = std::max(last, a.end);
    }
  }
  for (size_t s = 0; s < steps.size(); ++s) {
    const int64_t before = s == 0 ? 0 : steps[s - 1].window_begin;
    steps[s].window_begin = std::max(before, first[s] == kNever ? steps[s].begin : first[s]);
  }
  for (size_t s = 0; s + 1 < steps.size(); ++s) steps[s].window_end = steps[s + 1].window_begin;
  steps.back().window_end = std::max(last, steps.back().window_begin);
}

}  // namespace

std::string_view key_of(Category category) {
  constexpr std::string_view kKeys[] = {
      "forward",          "backward",   "optimizer",  "other_compute", "overlapped", "exposed_wait",
      "exposed_transfer", "copy",       "input_wait", "sync_bubble",   "allocator",  "host",
      "launch",           "dependency", "idle",       "profiler"};
  return kKeys[static_cast<size_t>(category)];
}

std::vector<StepTruth> step_truth(const Trail& trail, bool gpu) {
  std::vector<StepTruth> steps;
  for (const StepDone& step : trail.steps) {
    if (step.end < kNever)
      steps.push_back({.index = step.index, .begin = step.begin, .end = step.end});
  }
  set_windows(trail, gpu, steps);
  const std::vector<Stretch> stretches =
      gpu ? DeviceSweep(trail, trail.ending.at).run() : cpu_stretches(trail, trail.ending.at);
  size_t first = 0;
  for (StepTruth& step : steps) {
    int64_t covered = 0;
    while (first < stretches.size() && stretches[first].end <= step.window_begin) ++first;
    for (size_t i = first; i < stretches.size() && stretches[i].begin < step.window_end; ++i) {
      const int64_t begin = std::max(stretches[i].begin, step.window_begin);
      const int64_t end = std::min(stretches[i].end, step.window_end);
      if (end <= begin) continue;
      step.category_ns[static_cast<size_t>(stretches[i].category)] += end - begin;
      covered += end - begin;
    }
    step.category_ns[static_cast<size_t>(Category::kIdle)] +=
        step.window_end - step.window_begin - covered;
  }
  return steps;
}

}  // namespace dprof::synth
