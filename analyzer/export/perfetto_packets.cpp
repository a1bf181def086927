// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/perfetto_packets.h"

#include "analyzer/import/text.h"

namespace dprof::analyzer {
namespace {

// From perfetto/trace: the numbers of the written fields.
namespace field {
constexpr int kTracePacket = 1;

constexpr int kClockSnapshot = 6;  // of TracePacket
constexpr int kTimestamp = 8;
constexpr int kSequence = 10;
constexpr int kTrackEvent = 11;
constexpr int kInternedData = 12;
constexpr int kSequenceFlags = 13;
constexpr int kTrackDescriptor = 60;
constexpr int kFirstPacketOnSequence = 87;

constexpr int kClocks = 1;  // of ClockSnapshot
constexpr int kPrimaryClock = 2;
constexpr int kClockId = 1;  // of ClockSnapshot.Clock
constexpr int kClockTime = 2;

constexpr int kTrackUuid = 1;  // of TrackDescriptor
constexpr int kTrackName = 2;
constexpr int kProcess = 3;
constexpr int kThread = 4;
constexpr int kParent = 5;
constexpr int kCounter = 8;
constexpr int kChildOrdering = 11;
constexpr int kOrderRank = 12;
constexpr int kMergeBehaviour = 15;
constexpr int kMergeKey = 16;
constexpr int kProcessOrdering = 19;

constexpr int kPid = 1;  // of ProcessDescriptor and ThreadDescriptor
constexpr int kProcessName = 6;
constexpr int kTid = 2;
constexpr int kThreadName = 5;
constexpr int kUnit = 3;  // of CounterDescriptor

constexpr int kCategoryNumbers = 3;  // of TrackEvent
constexpr int kAnnotations = 4;
constexpr int kType = 9;
constexpr int kNameNumber = 10;
constexpr int kEventTrack = 11;
constexpr int kName = 23;
constexpr int kCounterValue = 30;
constexpr int kFlows = 47;
constexpr int kEndingFlows = 48;
constexpr int kCorrelation = 52;

constexpr int kKeyNumber = 1;  // of DebugAnnotation
constexpr int kIntValue = 4;
constexpr int kTextValue = 6;

constexpr int kEventNames = 2;  // of InternedData
constexpr int kNumber = 1;      // of its entries
constexpr int kText = 2;
}  // namespace field

constexpr int kRealtime = 1;
constexpr int kBoottime = 6;  // the default clock of timestamps
constexpr int kExplicitOrder = 3;
constexpr int kExplicitProcessOrder = 1;
constexpr int kStateCleared = 1;
constexpr int kNeedsState = 2;

uint64_t stamp_of(int64_t time_ns) { return static_cast<uint64_t>(time_ns + kPerfettoZeroNs); }

}  // namespace

void PerfettoPackets::begin_packet() {
  packet_.clear();
  packet_at_ = packet_.open(field::kTracePacket);
}

void PerfettoPackets::end_packet() {
  packet_.close(packet_at_);
  out_.write(packet_.bytes());
}

void PerfettoPackets::clock(int64_t realtime_at_zero_ns) {
  begin_packet();
  const size_t snapshot = packet_.open(field::kClockSnapshot);
  const auto reading = [&](int clock, uint64_t time) {
    const size_t at = packet_.open(field::kClocks);
    packet_.number(field::kClockId, clock);
    packet_.number(field::kClockTime, time);
    packet_.close(at);
  };
  reading(kBoottime, stamp_of(0));
  reading(kRealtime, static_cast<uint64_t>(realtime_at_zero_ns));
  packet_.number(field::kPrimaryClock, kBoottime);
  packet_.close(snapshot);
  packet_.number(field::kSequence, static_cast<uint64_t>(sequence_));
  end_packet();
}

void PerfettoPackets::order_processes() {
  begin_packet();
  const size_t at = packet_.open(field::kTrackDescriptor);
  packet_.number(field::kTrackUuid, 0);
  packet_.number(field::kProcessOrdering, kExplicitProcessOrder);
  packet_.close(at);
  end_packet();
}

void PerfettoPackets::process(uint64_t uuid, int64_t pid, std::string_view name, int64_t order) {
  begin_packet();
  const size_t at = packet_.open(field::kTrackDescriptor);
  packet_.number(field::kTrackUuid, uuid);
  const size_t process = packet_.open(field::kProcess);
  packet_.number(field::kPid, pid);
  packet_.text(field::kProcessName, clean_utf8(std::string(name)));
  packet_.close(process);
  packet_.number(field::kChildOrdering, kExplicitOrder);
  packet_.number(field::kOrderRank, order);
  packet_.close(at);
  end_packet();
}

void PerfettoPackets::thread(uint64_t uuid, int64_t pid, int64_t tid, std::string_view name) {
  begin_packet();
  const size_t at = packet_.open(field::kTrackDescriptor);
  packet_.number(field::kTrackUuid, uuid);
  const size_t thread = packet_.open(field::kThread);
  packet_.number(field::kPid, pid);
  packet_.number(field::kTid, tid);
  packet_.text(field::kThreadName, clean_utf8(std::string(name)));
  packet_.close(thread);
  packet_.close(at);
  end_packet();
}

void PerfettoPackets::track(uint64_t uuid, uint64_t parent, std::string_view name,
                            PerfettoMerge merge, int64_t order) {
  begin_packet();
  const size_t at = packet_.open(field::kTrackDescriptor);
  const std::string text = clean_utf8(std::string(name));
  packet_.number(field::kTrackUuid, uuid);
  packet_.text(field::kTrackName, text);
  packet_.number(field::kParent, parent);
  packet_.number(field::kChildOrdering, kExplicitOrder);
  packet_.number(field::kOrderRank, order);
  packet_.number(field::kMergeBehaviour, static_cast<int>(merge));
  if (merge == PerfettoMerge::kByKey) packet_.text(field::kMergeKey, text);
  packet_.close(at);
  end_packet();
}

void PerfettoPackets::counter(uint64_t uuid, uint64_t parent, std::string_view name,
                              PerfettoUnit unit) {
  begin_packet();
  const size_t at = packet_.open(field::kTrackDescriptor);
  packet_.number(field::kTrackUuid, uuid);
  packet_.text(field::kTrackName, clean_utf8(std::string(name)));
  packet_.number(field::kParent, parent);
  const size_t counter = packet_.open(field::kCounter);
  packet_.number(field::kUnit, static_cast<int>(unit));
  packet_.close(counter);
  packet_.close(at);
  end_packet();
}

void PerfettoPackets::begin_sequence(uint32_t id, size_t names) {
  sequence_ = id;
  is_first_ = true;
  known_names_.assign(names, false);
  categories_.numbers.clear();
  keys_.numbers.clear();
}

void PerfettoPackets::event(PerfettoEvent type, int64_t time_ns, uint64_t track) {
  begin_packet();
  packet_.number(field::kTimestamp, stamp_of(time_ns));
  packet_.number(field::kSequence, static_cast<uint64_t>(sequence_));
  packet_.number(field::kSequenceFlags, is_first_ ? kStateCleared | kNeedsState : kNeedsState);
  if (is_first_) packet_.flag(field::kFirstPacketOnSequence, true);
  is_first_ = false;
  event_at_ = packet_.open(field::kTrackEvent);
  packet_.number(field::kType, static_cast<int>(type));
  packet_.number(field::kEventTrack, track);
}

void PerfettoPackets::define(int field, uint64_t number, std::string_view text) {
  const size_t at = interned_.open(field);
  interned_.number(field::kNumber, number);
  interned_.text(field::kText, clean_utf8(std::string(text)));
  interned_.close(at);
}

uint64_t PerfettoPackets::number_of(Words& words, std::string_view word) {
  word_ = word;
  const auto [known, is_new] = words.numbers.try_emplace(word_, words.numbers.size() + 1);
  if (is_new) define(words.field, known->second, word);
  return known->second;
}

void PerfettoPackets::category(std::string_view word) {
  packet_.number(field::kCategoryNumbers, number_of(categories_, word));
}

void PerfettoPackets::name(int64_t id, std::string_view text) {
  const auto place = static_cast<size_t>(id);
  if (place >= known_names_.size()) return name(text);
  if (!known_names_[place]) define(field::kEventNames, place + 1, text);
  known_names_[place] = true;
  packet_.number(field::kNameNumber, static_cast<uint64_t>(place + 1));
}

void PerfettoPackets::name(std::string_view text) {
  packet_.text(field::kName, clean_utf8(std::string(text)));
}

void PerfettoPackets::note(std::string_view key, int64_t value) {
  const size_t at = packet_.open(field::kAnnotations);
  packet_.number(field::kKeyNumber, number_of(keys_, key));
  packet_.number(field::kIntValue, value);
  packet_.close(at);
}

void PerfettoPackets::note(std::string_view key, std::string_view value) {
  const size_t at = packet_.open(field::kAnnotations);
  packet_.number(field::kKeyNumber, number_of(keys_, key));
  packet_.text(field::kTextValue, clean_utf8(std::string(value)));
  packet_.close(at);
}

void PerfettoPackets::flow(uint64_t id) { packet_.fixed64(field::kFlows, id); }
void PerfettoPackets::flow_ends(uint64_t id) { packet_.fixed64(field::kEndingFlows, id); }
void PerfettoPackets::count(int64_t value) { packet_.number(field::kCounterValue, value); }
void PerfettoPackets::correlate(uint64_t id) { packet_.number(field::kCorrelation, id); }

void PerfettoPackets::done() {
  packet_.close(event_at_);
  if (!interned_.bytes().empty()) {
    packet_.text(field::kInternedData, interned_.bytes());
    interned_.clear();
  }
  end_packet();
}

}  // namespace dprof::analyzer
