// SPDX-License-Identifier: Apache-2.0
// Random small cases against the definition of docs/analysis/breakdown.md, moment by moment,
// without a sweep; and many larger ones by their sums.
#include "analyzer/digest/gpu_sweep.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "base/test_support/sanitized.h"

namespace dprof::analyzer {
namespace {

using schema::Marker;
using schema::RangeCategory;

constexpr int64_t kNearNs = 10'000;

struct TestRange {
  int32_t thread;
  RangeCategory category;
  const char* name;
  Interval span;
};

struct Case {
  Interval span;
  std::vector<TestRange> ranges;  // in the order of rows
  std::vector<Activity> activities;
  std::vector<LaunchCall> launches;
  std::vector<std::vector<StreamWait>> waits;
  Missing missing;
};

constexpr int32_t kThreads = 2;
constexpr uint32_t kStreams = 3;
constexpr const char* kRangeNames[] = {"forward",    "backward",    "optimizer", "input",
                                       "checkpoint", "gc",          "log",       "empty_cache",
                                       "c10d::wait", "some_marked", "aten::add"};
constexpr const char* kCallNames[] = {"cudaStreamSynchronize", "cudaMalloc", "cudaMemcpy",
                                      "cudaLaunchKernel", "cudaStreamSynchronize"};

class Generator {
 public:
  Generator(uint64_t seed, int64_t unit, int64_t length)
      : random_(seed), unit_(unit), length_(length) {}

  Case make(int64_t most) {
    Case c;
    c.span = {at(0), at(length_)};
    for (int32_t thread = 0; thread < kThreads; ++thread) {
      nest(c, thread, 0, length_, 3);
      calls(c, thread);
    }
    std::ranges::stable_sort(c.ranges, {}, [](const TestRange& r) { return r.span.begin; });
    activities(c, most);
    c.waits.resize(kStreams);
    for (int64_t i = number(6); i > 0; --i) {
      const int64_t called = number(length_);
      c.waits[static_cast<size_t>(number(kStreams))].push_back(
          {at(called), at(number(called + 1)), static_cast<uint32_t>(number(kStreams))});
    }
    if (number(6) == 0) c.missing.gpu = union_of(std::vector<Interval>{some_span()});
    if (number(6) == 0) c.missing.host = union_of(std::vector<Interval>{some_span()});
    return c;
  }

 private:
  int64_t number(int64_t limit) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit));
  }
  [[nodiscard]] TraceNs at(int64_t units) const { return {units * unit_}; }
  Interval some_span() {
    const int64_t begin = number(length_);
    return {at(begin), at(begin + 1 + number(20))};
  }

  void nest(Case& c, int32_t thread, int64_t begin, int64_t end, int depth) {
    for (int64_t from = begin + number(9); from < end;) {
      const int64_t to = std::min(end, from + number(25));
      const char* name = kRangeNames[number(std::size(kRangeNames))];
      const bool is_op = std::string_view(name).find("::") != std::string_view::npos;
      c.ranges.push_back(
          {thread, is_op ? RangeCategory::kOp : RangeCategory::kUser, name, {at(from), at(to)}});
      if (depth > 1) nest(c, thread, from, to, depth - 1);
      from = to + number(12);
    }
  }

  void calls(Case& c, int32_t thread) {
    for (int64_t from = number(20); from < length_;) {
      const int64_t to = std::min(length_, from + 1 + number(10));
      const bool overhead = number(6) == 0;
      c.ranges.push_back(
          {thread,
           overhead ? RangeCategory::kOverhead : RangeCategory::kApi,
           overhead ? "CUPTI buffer flush" : kCallNames[number(std::size(kCallNames))],
           {at(from), at(to)}});
      from = to + 1 + number(30);
    }
  }

  void activities(Case& c, int64_t most) {
    constexpr Category kPhases[] = {Category::kForward, Category::kBackward, Category::kOptimizer,
                                    Category::kOtherCompute};
    for (int64_t i = number(most); i > 0; --i) {
      Activity a;
      const int64_t begin = number(length_);
      a.begin = at(begin);
      a.end = at(std::min(length_, begin + number(15)));
      a.stream = static_cast<uint32_t>(number(kStreams));
      a.what = static_cast<ActivityClass>(number(3));
      if (a.what == ActivityClass::kCompute) a.phase = kPhases[number(4)];
      if (a.what == ActivityClass::kCopy) a.copy = HostDetail::kDeviceToHost;
      if (a.what == ActivityClass::kCommunication) a.subject = static_cast<int32_t>(i);
      if (number(5) != 0) {
        a.launch = static_cast<int32_t>(c.launches.size());
        c.launches.push_back({at(std::max<int64_t>(0, begin - number(25))), i,
                              static_cast<int32_t>(number(kThreads))});
      }
      c.activities.push_back(a);
    }
    std::ranges::stable_sort(c.activities, {}, &Activity::begin);
  }

  std::mt19937_64 random_;
  int64_t unit_;
  int64_t length_;
};

HostSide host_of(const Case& c) {
  HostSide host;
  // Threads are numbered by first appearance.
  for (int32_t thread = 0; thread < kThreads; ++thread) host.add_loader_wait(thread, {});
  int64_t id = 0;
  for (const TestRange& r : c.ranges) {
    schema::HostRangeRow row;
    row.id = ++id;
    row.thread_id = r.thread;
    row.category = r.category;
    row.name_id = -1;  // names are given as text here
    host.add(row, kind_of(r.category, r.name), r.name, r.span);
  }
  host.finish();
  return host;
}

std::vector<DevicePiece> sweep(const Case& c, const HostSide& host) {
  Activities all;
  for (uint32_t s = 0; s < kStreams; ++s) all.streams.of(s);
  all.by_device[0] = c.activities;
  const Dependencies dependencies(c.waits, all, c.launches);
  const GapClassifier gaps(host, c.launches, dependencies, c.missing);
  return sweep_device(c.activities, c.span, c.launches, gaps);
}

// --- the definition ---

struct Says {
  Category category;
  HostDetail detail = HostDetail::kNone;
  Category phase = Category::kIdle;  // of kOverlapped
  friend bool operator==(const Says&, const Says&) = default;
};

class Definition {
 public:
  Definition(const Case& c, int32_t training) : c_(c), training_(training) {}

  [[nodiscard]] Says at(TraceNs t) const {
    const Activity* compute = nullptr;
    const Activity* copy = nullptr;
    bool comm = false;
    for (const Activity& a : c_.activities) {  // in order of begin: the last one began last
      if (a.begin > t || a.end <= t) continue;
      if (a.what == ActivityClass::kCompute) compute = &a;
      if (a.what == ActivityClass::kCopy) copy = &a;
      comm = comm || a.what == ActivityClass::kCommunication;
    }
    if (compute != nullptr && comm)
      return {Category::kOverlapped, HostDetail::kNone, compute->phase};
    if (compute != nullptr) return {compute->phase};
    if (comm) return {Category::kExposedTransfer};
    if (copy != nullptr) return {Category::kCopy, copy->copy};
    return idle(t);
  }

 private:
  [[nodiscard]] Says idle(TraceNs t) const {
    Interval gap = c_.span;
    const Activity* closes = nullptr;
    int32_t before = kNoRange;
    for (const Activity& a : c_.activities) {
      if (a.end <= t) gap.begin = std::max(gap.begin, a.end);
      if (a.begin <= t && a.launch != kNoRange) before = launch(a).thread;
      if (a.begin > t && closes == nullptr) closes = &a;
    }
    if (closes != nullptr) gap.end = closes->begin;
    if (intersects(c_.missing.gpu, gap)) return {Category::kIdle, HostDetail::kLost};
    if (closes == nullptr) {
      const int32_t thread = before != kNoRange ? before : training_;
      return starving(t, gap, gap.end, thread, before, false);
    }
    const bool is_short = (gap.end - gap.begin).ns < kNearNs;
    const Says queued{is_short ? Category::kLaunch : Category::kIdle};
    if (closes->launch == kNoRange) return queued;
    const LaunchCall& call = launch(*closes);
    if (call.at > gap.begin) {
      if (t >= call.at) return {Category::kLaunch};
      return starving(t, gap, std::min(call.at, gap.end), call.thread, before, true);
    }
    return waited(*closes, call.at, gap) ? Says{Category::kDependency} : queued;
  }

  [[nodiscard]] bool waited(const Activity& k, TraceNs launched, Interval gap) const {
    for (const StreamWait& wait : c_.waits[k.stream]) {
      if (wait.called > launched) continue;
      bool earlier_work = false;  // then the wait delayed that work, not k
      for (const Activity& a : c_.activities) {
        earlier_work = earlier_work || (a.stream == k.stream && launch_time(a) < launched &&
                                        launch_time(a) >= wait.called);
      }
      if (earlier_work) continue;
      const Activity* source = nullptr;
      for (const Activity& a : c_.activities) {
        if (a.stream != wait.source || launch_time(a) > wait.recorded) continue;
        if (source == nullptr || launch_time(a) >= launch_time(*source)) source = &a;
      }
      if (source != nullptr && source->end.ns >= gap.begin.ns - kNearNs && source->end < gap.end)
        return true;
    }
    return false;
  }

  [[nodiscard]] Says starving(TraceNs t, Interval gap, TraceNs until, int32_t thread,
                              int32_t before, bool refills) const {
    if (thread == kNoRange) return {Category::kIdle};
    HostState state = state_of(thread, t);
    int32_t acting = thread;
    const int32_t other = before != kNoRange && before != thread ? before : training_;
    if ((state.what == HostClass::kNone ||
         (state.what == HostClass::kRange && state.phase == Marker::kBackward)) &&
        state_of(other, t).what != HostClass::kNone) {
      state = state_of(other, t);
      acting = other;
    }
    if (in_call(thread, t, RangeCategory::kOverhead, {"CUPTI buffer flush"}))
      return {Category::kProfiler};
    if (state.what == HostClass::kInput) return {Category::kInputWait};
    if (refills) {
      std::optional<TraceNs> bubble = bubble_of(thread, gap, until);
      if (!bubble && before != kNoRange) bubble = bubble_of(before, gap, until);
      if (bubble && t >= *bubble) return {Category::kSyncBubble};
    }
    if (state.what == HostClass::kAllocation ||
        in_call(acting, t, RangeCategory::kApi, {"cudaMalloc"}))
      return {Category::kAllocator};
    switch (state.what) {
      case HostClass::kCollectiveWait:
        return {Category::kExposedWait};
      case HostClass::kCheckpoint:
        return {Category::kHost, HostDetail::kCheckpoint};
      case HostClass::kOptimizer:
        return {Category::kHost, HostDetail::kOptimizer};
      case HostClass::kLogging:
        return {Category::kHost, HostDetail::kLogging};
      case HostClass::kGc:
        return {Category::kHost, HostDetail::kGc};
      case HostClass::kRange:
        return {Category::kHost, HostDetail::kRange};
      default:
        break;
    }
    if (intersects(c_.missing.host, gap)) return {Category::kIdle, HostDetail::kLost};
    return {Category::kHost, HostDetail::kUnattributed};
  }

  // The first blocking call that was running when the gap began and ended before the launch.
  [[nodiscard]] std::optional<TraceNs> bubble_of(int32_t thread, Interval gap,
                                                 TraceNs until) const {
    for (const TestRange& r : c_.ranges) {
      if (r.thread != thread || r.category != RangeCategory::kApi) continue;
      const std::string_view name = r.name;
      if (name != "cudaStreamSynchronize" && name != "cudaMemcpy") continue;
      if (r.span.end.ns < gap.begin.ns - kNearNs) continue;
      if (r.span.end >= until || r.span.begin.ns > gap.begin.ns + kNearNs) return std::nullopt;
      return std::max(r.span.begin, gap.begin);
    }
    return std::nullopt;
  }

  [[nodiscard]] bool in_call(int32_t thread, TraceNs t, RangeCategory category,
                             std::initializer_list<std::string_view> names) const {
    return std::ranges::any_of(c_.ranges, [&](const TestRange& r) {
      return r.thread == thread && r.category == category && r.span.begin <= t && t < r.span.end &&
             std::ranges::count(names, std::string_view(r.name)) > 0;
    });
  }

  // From the outermost covering range to the innermost.
  [[nodiscard]] HostState state_of(int32_t thread, TraceNs t) const {
    std::vector<const TestRange*> open;
    for (const TestRange& r : c_.ranges) {
      if (r.category == RangeCategory::kApi || r.category == RangeCategory::kOverhead) continue;
      if (r.thread == thread && r.span.begin <= t && t < r.span.end) open.push_back(&r);
    }
    std::ranges::stable_sort(open, [](const TestRange* a, const TestRange* b) {
      return std::pair(a->span.begin.ns, -a->span.end.ns) <
             std::pair(b->span.begin.ns, -b->span.end.ns);
    });
    HostState state;
    for (const TestRange* r : open) {
      const std::string_view name = r->name;
      if (name == "forward") state.phase = Marker::kForward;
      if (name == "backward") state.phase = Marker::kBackward;
      if (name == "optimizer") state.phase = Marker::kOptimizer;
      if (name == "input") state.phase = Marker::kInput;
      if (name == "checkpoint") state.phase = Marker::kCheckpoint;
      constexpr std::pair<std::string_view, HostClass> kOwn[] = {
          {"optimizer", HostClass::kOptimizer},
          {"input", HostClass::kInput},
          {"checkpoint", HostClass::kCheckpoint},
          {"gc", HostClass::kGc},
          {"log", HostClass::kLogging},
          {"empty_cache", HostClass::kAllocation},
          {"c10d::wait", HostClass::kCollectiveWait}};
      const auto own = std::ranges::find(kOwn, name, [](const auto& o) { return o.first; });
      if (own != std::end(kOwn)) {
        state.what = own->second;
      } else if (state.what == HostClass::kNone) {
        state.what = HostClass::kRange;
      }
    }
    return state;
  }

  static bool intersects(const IntervalSet& set, Interval span) {
    return std::ranges::any_of(
        set, [&](const Interval& i) { return i.begin < span.end && span.begin < i.end; });
  }
  [[nodiscard]] const LaunchCall& launch(const Activity& a) const {
    return c_.launches[static_cast<size_t>(a.launch)];
  }
  [[nodiscard]] TraceNs launch_time(const Activity& a) const {
    return a.launch == kNoRange ? a.begin : launch(a).at;
  }

  const Case& c_;
  int32_t training_;
};

Says said_by(const DevicePiece& piece) {
  return {piece.category, piece.detail,
          piece.category == Category::kOverlapped ? piece.phase : Category::kIdle};
}

class GpuRaster : public testing::TestWithParam<uint64_t> {
 protected:
  void compare(int64_t unit, int64_t length, int rounds) {
    for (int round = 0; round < rounds; ++round) {
      Generator generator(GetParam() * 1'000'003 + static_cast<uint64_t>(round), unit, length);
      const Case c = generator.make(10);
      const HostSide host = host_of(c);
      const Definition definition(c, host.training_thread());
      const std::vector<DevicePiece> pieces = sweep(c, host);
      ASSERT_FALSE(pieces.empty());
      ASSERT_EQ(pieces.front().begin, c.span.begin);
      for (size_t p = 0; p < pieces.size(); ++p) {
        const TraceNs end = p + 1 < pieces.size() ? pieces[p + 1].begin : c.span.end;
        ASSERT_LT(pieces[p].begin, end);
        for (int64_t t = pieces[p].begin.ns; t < end.ns; t += unit) {
          const Says expected = definition.at({t});
          ASSERT_EQ(said_by(pieces[p]), expected)
              << "at " << t << ", round " << round << ": " << key_of(pieces[p].category) << "/"
              << static_cast<int>(pieces[p].detail) << ", by definition "
              << key_of(expected.category) << "/" << static_cast<int>(expected.detail);
        }
      }
    }
  }
};

TEST_P(GpuRaster, EveryNanosecondHasTheCategoryOfTheDefinition) { compare(1, 120, 100); }

// The same in microseconds, where the limits of 10 us decide.
TEST_P(GpuRaster, EveryMicrosecondHasTheCategoryOfTheDefinition) { compare(1000, 120, 150); }

INSTANTIATE_TEST_SUITE_P(Seeds, GpuRaster, testing::Range<uint64_t>(1, 9));

// Every set is divided without gaps or overlaps, and busy time equals the time covered by
// activities. DPROF_LONG_TESTS=1: a million sets.
TEST(GpuSweepTest, PartitionIsExact) {
  const bool is_long = std::getenv("DPROF_LONG_TESTS") != nullptr;
  const int rounds = is_long ? 1'000'000 : repetitions(20'000);
  for (int round = 0; round < rounds; ++round) {
    Generator generator(static_cast<uint64_t>(round) + 77, 1 + round % 1300, 200);
    const Case c = generator.make(30);
    const HostSide host = host_of(c);
    const std::vector<DevicePiece> pieces = sweep(c, host);
    std::vector<Interval> compute, comm, all;
    for (const Activity& a : c.activities) {
      all.push_back({a.begin, a.end});
      if (a.what == ActivityClass::kCompute) compute.push_back(all.back());
      if (a.what == ActivityClass::kCommunication) comm.push_back(all.back());
    }
    const int64_t overlap = overlap_ns(compute, comm);
    std::array<int64_t, kCategories> sums{};
    for (size_t p = 0; p < pieces.size(); ++p) {
      const TraceNs end = p + 1 < pieces.size() ? pieces[p + 1].begin : c.span.end;
      ASSERT_LT(pieces[p].begin, end);
      sums[static_cast<size_t>(pieces[p].category)] += (end - pieces[p].begin).ns;
    }
    const auto of = [&](Category category) { return sums[static_cast<size_t>(category)]; };
    int64_t total = 0;
    for (const int64_t ns : sums) total += ns;
    ASSERT_EQ(total, c.span.length().ns) << round;
    ASSERT_EQ(of(Category::kOverlapped), overlap) << round;
    ASSERT_EQ(of(Category::kExposedTransfer), measure(union_of(comm)).ns - overlap) << round;
    const int64_t computed = of(Category::kForward) + of(Category::kBackward) +
                             of(Category::kOptimizer) + of(Category::kOtherCompute);
    ASSERT_EQ(computed, measure(union_of(compute)).ns - overlap) << round;
    ASSERT_EQ(computed + overlap + of(Category::kExposedTransfer) + of(Category::kCopy),
              measure(union_of(all)).ns)
        << round;
  }
}

}  // namespace
}  // namespace dprof::analyzer
