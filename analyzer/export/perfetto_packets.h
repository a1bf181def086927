// SPDX-License-Identifier: Apache-2.0
// The packets of a Perfetto trace: tracks, slices, instants, counters, flows. Field numbers and
// rules: docs/export.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/export/out_file.h"
#include "analyzer/export/proto.h"

namespace dprof::analyzer {

// Earlier times cannot be written: timestamps are unsigned, and time 0 of a run is here.
inline constexpr int64_t kPerfettoZeroNs = int64_t{1} << 40;

enum class PerfettoEvent : uint8_t { kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4 };
// Tracks with equal names and parents are shown separately, or those of equal keys merged.
enum class PerfettoMerge : uint8_t { kNone = 2, kByKey = 3 };
enum class PerfettoUnit : uint8_t { kNanoseconds = 1, kCount = 2, kBytes = 3 };

// Names are written once per sequence (of packets: one per rank) and referred to by number. Start
// an event with event(), fill it with the calls below, and write it with done().
//
// Texts      any bytes: invalid UTF-8 becomes U+FFFD.
class PerfettoPackets {
 public:
  explicit PerfettoPackets(OutFile& out) : out_(out) {}

  // CLOCK_REALTIME at time 0 of the run.
  void clock(int64_t realtime_at_zero_ns);
  // Shows processes by their `order` instead of their numbers.
  void order_processes();

  void process(uint64_t uuid, int64_t pid, std::string_view name, int64_t order);
  void thread(uint64_t uuid, int64_t pid, int64_t tid, std::string_view name);
  void track(uint64_t uuid, uint64_t parent, std::string_view name,
             PerfettoMerge merge = PerfettoMerge::kNone, int64_t order = 0);
  void counter(uint64_t uuid, uint64_t parent, std::string_view name, PerfettoUnit unit);

  // Starts a sequence, in which no names are known yet. `id` > 0.
  void begin_sequence(uint32_t id, size_t names);

  void event(PerfettoEvent type, int64_t time_ns, uint64_t track);
  void category(std::string_view word);
  void name(int64_t id, std::string_view text);  // id: number of this text, below `names`
  void name(std::string_view text);              // for one that rarely repeats
  void note(std::string_view key, int64_t value);
  void note(std::string_view key, std::string_view value);
  void flow(uint64_t id);       // continues
  void flow_ends(uint64_t id);  // ends here
  void count(int64_t value);    // of kCounter
  void correlate(uint64_t id);  // groups the events of one number
  void done();
  [[nodiscard]] Status status() const { return out_.status(); }

 private:
  // Words of one kind, with their numbers.
  struct Words {
    int field;  // of InternedData
    std::unordered_map<std::string, uint64_t> numbers;
  };
  uint64_t number_of(Words& words, std::string_view word);
  void define(int field, uint64_t number, std::string_view text);
  void begin_packet();
  void end_packet();

  OutFile& out_;
  ProtoWriter packet_;    // the one being written, within its Trace.packet
  size_t packet_at_ = 0;  // position of its fields in packet_
  size_t event_at_ = 0;
  ProtoWriter interned_;  // the names it defines
  uint32_t sequence_ = 1;
  bool is_first_ = true;
  std::vector<bool> known_names_;
  Words categories_{1, {}};
  Words keys_{3, {}};
  std::string word_;
};

}  // namespace dprof::analyzer
