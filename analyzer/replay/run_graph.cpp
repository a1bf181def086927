// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/run_graph.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analyzer/replay/calls.h"
#include "analyzer/steps/device_windows.h"
#include "base/free_memory.h"

namespace dprof::analyzer {
namespace {

// A stop ends with the calls that were over by then; their ends differ slightly from its own.
constexpr int64_t kSameMoment = 10'000;

class RunGraphBuilder {
 public:
  RunGraphBuilder(std::span<const RankDigest> digests, const Steps& steps, const Matching& matching,
                  std::span<const OwnClock> clocks)
      : digests_(digests), steps_(steps), matching_(matching), clocks_(clocks) {}

  std::optional<RunGraph> run() {
    const size_t ranks = steps_.ranks.size();
    std::vector<Interval> spans;
    for (size_t r = 0; r < ranks; ++r) {
      borders_.push_back(borders_of(r));
      spans.push_back({borders_.back().front(), borders_.back().back()});
    }
    calls_ = replayed_calls(digests_, steps_, matching_, spans, run_.graph, run_.meetings);
    programs_ = number_calls(calls_, borders_);
    place_queued_calls(calls_, programs_, clocks_);
    note_alike();
    note_steps();
    for (size_t r = 0; r < ranks; ++r) {
      run_.own_tasks_of.push_back(run_.own_tasks.size());
      draw_line(r);
    }
    run_.own_tasks_of.push_back(run_.own_tasks.size());
    note_calls();
    free_memory(calls_);
    sort_segments();
    const auto now = run_.graph.settle();
    if (!now) return std::nullopt;
    renumber(*now);
    return std::move(run_);
  }

 private:
  [[nodiscard]] size_t count() const { return steps_.steady().size(); }

  // The begins of the steady steps on the rank's line, and the end of the last one.
  std::vector<TraceNs> borders_of(size_t r) {
    const std::vector<Interval> windows = own_windows(steps_.steady(), r);
    std::vector<TraceNs> borders;
    for (const Interval& window : windows) borders.push_back(window.begin);
    borders.push_back(windows.back().end);
    return borders;
  }

  void note_steps() {
    TraceNs former{INT64_MIN};
    for (const std::vector<TraceNs>& borders : borders_) former = std::max(former, borders.front());
    for (size_t s = 0; s < count(); ++s) {
      TraceNs end{INT64_MIN};
      for (const std::vector<TraceNs>& borders : borders_) end = std::max(end, borders[s + 1]);
      run_.steps.push_back({.step = steps_.first_steady + s,
                            .begin_ns = s == 0 ? std::optional(former.ns) : std::nullopt,
                            .recorded_ns = (end - former).ns,
                            .last = {}});
      former = end;
    }
  }

  // One rank while its line is built.
  struct Line {
    size_t entry = 0;
    TaskId at_task = 0;
    TraceNs at;
    size_t step = 0;             // entry of run_.steps
    size_t next_call = 0;        // of its calls
    size_t first_waited = 0;     // calls before it are over
    uint32_t calls_in_step = 0;  // the last one's number in the step, from 1
    bool stopped = false;        // since the last call
    std::vector<bool> over;      // calls for which a stop has waited
  };

  void draw_line(size_t r) {
    Line line{.entry = r, .at = borders_[r].front(), .over = {}};
    line.over.resize(calls_[r].size(), false);
    line.at_task = run_.graph.add({.release_ns = line.at.ns});
    const IntervalSet& stops = clocks_[r].stops();
    auto stop = std::ranges::upper_bound(stops, line.at, {}, &Interval::end);
    while (line.step < count()) {
      const TraceNs border = borders_[r][line.step + 1];
      const TraceNs call =
          line.next_call < calls_[r].size() ? calls_[r][line.next_call].at : TraceNs{INT64_MAX};
      const TraceNs held =
          stop != stops.end() ? std::max(stop->begin, line.at) : TraceNs{INT64_MAX};
      // The earliest first: the call before the stop that it causes, a stop before the step's end.
      if (call <= held && call < border) {
        work_until(line, call);
        take_call(line);
      } else if (held < border) {
        work_until(line, held);
        const TraceNs until = std::min(stop->end, border);  // a stop can continue in the next step
        take_stop(line, {held, until});
        if (until == stop->end) ++stop;
      } else {
        work_until(line, border);
        run_.steps[line.step].last.push_back(line.at_task);
        ++line.step;
        line.calls_in_step = 0;
        line.stopped = false;
      }
    }
  }

  void work_until(Line& line, TraceNs to) {
    if (to <= line.at) return;
    const int64_t own = (to - line.at).ns;
    const TaskId task = run_.graph.add({.duration_ns = own});
    run_.graph.after(task, line.at_task);
    line.at_task = task;
    const Interval span{line.at, to};
    line.at = to;
    const uint32_t place = place_of(line);
    const bool goes_on = !run_.segments.empty() && run_.segments.back().entry == line.entry &&
                         run_.segments.back().place == place &&
                         run_.segments.back().stopped == line.stopped;
    if (!goes_on) {
      run_.segments.push_back({.entry = static_cast<uint32_t>(line.entry),
                               .place = place,
                               .stopped = line.stopped,
                               .first = static_cast<uint32_t>(run_.own_tasks.size())});
    }
    run_.own_tasks.push_back({task, static_cast<uint32_t>(line.step), span});
    ++run_.segments.back().count;
    run_.segments.back().own_ns += own;
  }

  uint32_t place_of(const Line& line) {
    const uint64_t program = programs_[line.entry][line.step];
    const auto [place, is_new] =
        places_.try_emplace(std::tuple(line.step, program, line.calls_in_step), run_.places.size());
    if (is_new) {
      const auto spot = spots_.try_emplace({program, line.calls_in_step}, run_.spots).first->second;
      run_.spots = std::max(run_.spots, spot + 1);
      run_.places.push_back({.alike = alike_.at({line.step, program}),
                             .step = static_cast<uint32_t>(line.step),
                             .spot = spot});
    }
    return static_cast<uint32_t>(place->second);
  }

  void note_alike() {
    for (size_t r = 0; r < programs_.size(); ++r) {
      for (size_t s = 0; s < programs_[r].size(); ++s) {
        const auto [set, is_new] =
            alike_.try_emplace({s, programs_[r][s]}, static_cast<uint32_t>(run_.alike.size()));
        if (is_new) run_.alike.emplace_back();
        run_.alike[set->second].push_back(static_cast<uint32_t>(r));
      }
    }
  }

  void note_calls() {
    size_t calls = 0;
    for (const std::vector<ReplayedCall>& of_rank : calls_) calls += of_rank.size();
    run_.calls.reserve(calls);
    for (size_t r = 0; r < calls_.size(); ++r) {
      for (const ReplayedCall& call : calls_[r]) {
        run_.calls.push_back({call.start, call.body, call.meet, static_cast<uint32_t>(r),
                              static_cast<uint32_t>(call.step), call.record});
      }
    }
  }

  void sort_segments() {
    std::ranges::sort(run_.segments, {},
                      [](const OwnSegment& s) { return std::tuple(s.place, s.entry, s.stopped); });
    for (size_t s = 0; s < run_.segments.size(); ++s) {
      Place& place = run_.places[run_.segments[s].place];
      if (place.count++ == 0) place.first = static_cast<uint32_t>(s);
    }
  }

  void renumber(const std::vector<TaskId>& now) {
    for (ReplayedStep& step : run_.steps) {
      for (TaskId& task : step.last) task = now[task];
    }
    for (OwnTask& own : run_.own_tasks) own.task = now[own.task];
    for (CallTask& call : run_.calls) {
      for (TaskId* task : {&call.start, &call.body, &call.meet}) *task = now[*task];
    }
    for (GateTask& gate : run_.gates) gate.task = now[gate.task];
    run_.own_tasks.shrink_to_fit();
    run_.segments.shrink_to_fit();
    run_.places.shrink_to_fit();
    run_.gates.shrink_to_fit();
  }

  void take_call(Line& line) {
    const ReplayedCall& call = calls_[line.entry][line.next_call++];
    // The previous call delayed it; the rank reached it earlier, at an unknown time.
    const TraceNs came = std::min(call.at, line.at);
    run_.graph.after(call.start, line.at_task);
    const TraceNs ready = std::max(came, call.queue_free);
    run_.graph[call.start].lag_ns = std::max<int64_t>(0, (call.begin - ready).ns);
    if (call.step == line.step) line.calls_in_step = call.number + 1;
    line.stopped = false;
  }

  // A call made during a stop waits for the calls that were over by then: one call's end can be the
  // next one's begin.
  void take_stop(Line& line, Interval stop) {
    const std::vector<ReplayedCall>& calls = calls_[line.entry];
    TraceNs from = stop.begin;
    while (line.next_call < calls.size() && calls[line.next_call].at < stop.end) {
      const TraceNs at = std::max(from, calls[line.next_call].at);
      if (at > from) hold(line, {from, at});
      from = at;
      take_call(line);
    }
    hold(line, {from, stop.end});
    line.stopped = true;
  }

  void hold(Line& line, Interval stop) {
    const std::vector<ReplayedCall>& calls = calls_[line.entry];
    const TaskId gate = run_.graph.add({});
    run_.gates.push_back(
        {gate, static_cast<uint32_t>(line.entry), static_cast<uint32_t>(line.step)});
    run_.graph.after(gate, line.at_task);
    TraceNs over = stop.begin;
    for (size_t c = line.first_waited; c < line.next_call; ++c) {
      if (line.over[c] || (calls[c].end - stop.end).ns > kSameMoment) continue;
      line.over[c] = true;
      run_.graph.after(gate, calls[c].body);
      over = std::max(over, calls[c].end);
    }
    if ((stop.end - over).ns > kSameMoment && wait_for_late(line, gate, {over, stop.end}))
      over = stop.end;
    while (line.first_waited < line.next_call && line.over[line.first_waited]) ++line.first_waited;
    run_.graph[gate].lag_ns = std::max<int64_t>(0, (stop.end - over).ns);
    line.at_task = gate;
    line.at = std::max(line.at, stop.end);
  }

  // Gloo's worker wakes the rank before it records the end, and can lose its core to the rank:
  // several ms on a host with as many ranks as cores. The rank waited for a call whose last member
  // arrived during the stop, if that call can have been over by the stop's end. Returns whether
  // there is one; it then ends with the stop.
  bool wait_for_late(Line& line, TaskId gate, Interval rest) {
    const std::vector<ReplayedCall>& calls = calls_[line.entry];
    std::optional<size_t> late;
    for (size_t c = line.first_waited; c < line.next_call; ++c) {
      const ReplayedCall& call = calls[c];
      if (line.over[c] || !call.met || *call.met <= rest.begin || *call.over_from > rest.end)
        continue;
      if (!late || call.end < calls[*late].end) late = c;
    }
    if (!late) return false;
    line.over[*late] = true;
    run_.graph.after(gate, calls[*late].body);
    int64_t& transfer_ns = run_.graph[calls[*late].body].duration_ns;
    transfer_ns = std::max<int64_t>(0, transfer_ns - (calls[*late].end - rest.end).ns);
    return true;
  }

  std::span<const RankDigest> digests_;
  const Steps& steps_;
  const Matching& matching_;
  std::span<const OwnClock> clocks_;
  RunGraph run_;
  std::vector<std::vector<TraceNs>> borders_;     // [entry][step], and the end
  std::vector<std::vector<ReplayedCall>> calls_;  // [entry]
  Programs programs_;
  std::map<std::tuple<size_t, uint64_t, uint32_t>, size_t> places_;  // step, program, call
  std::map<std::pair<size_t, uint64_t>, uint32_t> alike_;            // step, program
  std::map<std::pair<uint64_t, uint32_t>, uint32_t> spots_;          // program, call
};

}  // namespace

std::optional<RunGraph> run_graph_of(std::span<const RankDigest> digests, const Steps& steps,
                                     const Matching& matching, std::span<const OwnClock> clocks) {
  return RunGraphBuilder(digests, steps, matching, clocks).run();
}

}  // namespace dprof::analyzer
