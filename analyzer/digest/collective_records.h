// SPDX-License-Identifier: Apache-2.0
// A rank's calls of collectives and messages. A run can have 40 million of them.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/compact_optional.h"
#include "base/index_iterator.h"
#include "base/time.h"
#include "schema/generated/rows.h"

namespace dprof::analyzer {

// What the calls at one place of a program have in common.
struct CollectiveTraits {
  using Number = CompactOptional<int64_t>;
  using SmallNumber = CompactOptional<int64_t, int32_t>;

  Number bytes;
  Number count;  // elements of this rank's input
  SmallNumber root;
  SmallNumber peer;           // number in the communicator; nullopt = any, or not recorded
  SmallNumber bucket;         // of DDP
  uint32_t communicator = 0;  // index into RankDigest::communicators
  SmallEnum<schema::Function> function;
  SmallEnum<schema::DataType> dtype;
  SmallEnum<schema::Reduction> reduction;
  SmallEnum<schema::CollectiveState> state;
  bool captured = false;           // in a CUDA graph
  bool numbered = true;            // `sequence` was recorded; else inferred from call order
  bool by_training_thread = true;  // called by the thread whose steps these are, if known

  bool operator==(const CollectiveTraits&) const = default;
};

// What differs from call to call.
struct CollectiveOccurrence {
  using Number = CompactOptional<int64_t>;
  using Time = CompactOptional<TraceNs>;

  int64_t row = 0;
  int64_t sequence = 0;
  Number group_sequence;
  Number correlation;  // of its kernel's launch
  Time enqueue;
  Time start;
  Time end;
  Time failed;  // when it ended with an error: then `end` is empty
  Time ready;   // when the last gradient of its bucket was ready
  // On a GPU: when the device had finished work launched before the call, as far as is known.
  Time device_ready;
};

// This rank's part of one collective, on the run's axis.
struct CollectiveRecord : CollectiveTraits, CollectiveOccurrence {
  using Number = CollectiveTraits::Number;

  // When the rank arrived: its call or, if that was not recorded, its begin.
  [[nodiscard]] std::optional<TraceNs> arrival() const { return enqueue ? enqueue : start; }
};

// Reads like a const vector of CollectiveRecord, but packs each into 44 bytes and makes it when it
// is asked for: kinds are kept once, and times as distances from the first. Calls whose numbers
// or distances (2.1 s) are too large for that take 80 bytes more.
class CollectiveRecords {
 public:
  // A record to change: written back when this ends.
  class Edited : public CollectiveRecord {
   public:
    Edited(CollectiveRecords& records, size_t at)
        : CollectiveRecord(std::as_const(records)[at]), records_(records), at_(at) {}
    Edited(const Edited&) = delete;
    Edited& operator=(const Edited&) = delete;
    ~Edited() { records_.set(at_, *this); }

   private:
    CollectiveRecords& records_;
    size_t at_;
  };

  using value_type = CollectiveRecord;
  using const_iterator = IndexIterator<CollectiveRecords>;

  CollectiveRecords() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): is that list
  CollectiveRecords(const std::vector<CollectiveRecord>& records);

  [[nodiscard]] size_t size() const { return packed_.size(); }
  [[nodiscard]] bool empty() const { return packed_.empty(); }
  // Const: who assigned to a copy's field would change nothing.
  // NOLINTNEXTLINE(readability-const-return-type)
  [[nodiscard]] const CollectiveRecord operator[](size_t at) const;
  // NOLINTNEXTLINE(readability-const-return-type)
  [[nodiscard]] const CollectiveRecord back() const { return (*this)[size() - 1]; }
  [[nodiscard]] const_iterator begin() const { return {*this, 0}; }
  [[nodiscard]] const_iterator end() const { return {*this, size()}; }

  void push_back(const CollectiveRecord& record);
  void set(size_t at, const CollectiveRecord& record);
  [[nodiscard]] Edited edit(size_t at) { return {*this, at}; }
  template <std::invocable<CollectiveRecord&> F>
  void edit_all(F&& f) {
    for (size_t at = 0; at < size(); ++at) {
      CollectiveRecord record = (*this)[at];
      f(record);
      set(at, record);
    }
  }
  // Stable; calls without an arrival come last.
  void sort_by_arrival();
  // Releases what only further calls would need.
  void shrink_to_fit();

  // For archives: all that it consists of.
  template <typename F>
  void for_each_list(F&& f) {
    f(kinds_);
    f(unpacked_);
    f(packed_);
  }

 private:
  static constexpr int32_t kNoTime = std::numeric_limits<int32_t>::min();
  static constexpr uint32_t kNoNumber = UINT32_MAX;
  static constexpr uint32_t kUnpacked = 1U << 31U;  // `row` is the index into unpacked_
  static constexpr uint32_t kFailed = 1U << 30U;    // `end` is when it failed
  static constexpr uint32_t kNotEnqueued = 1U << 29U;
  static constexpr uint32_t kKind = kNotEnqueued - 1;

  struct Packed {
    uint32_t anchor_low = 0;  // of 64 bits: enqueue or, without it, start
    uint32_t anchor_high = 0;
    int32_t start = kNoTime;  // ns since the anchor, like the next three
    int32_t end = kNoTime;
    int32_t ready = kNoTime;
    int32_t device_ready = kNoTime;
    uint32_t kind = 0;  // index into kinds_, and the flags above
    uint32_t row = 0;
    uint32_t sequence = 0;
    uint32_t group_sequence = kNoNumber;
    uint32_t correlation = kNoNumber;
  };
  static_assert(sizeof(Packed) == 44);

  struct KindHash {
    size_t operator()(const CollectiveTraits& kind) const;
  };

  static std::optional<Packed> packed(const CollectiveOccurrence& call);  // nullopt = does not fit
  static CollectiveOccurrence unpacked(const Packed& packed);
  uint32_t index_of(const CollectiveTraits& kind);

  std::vector<CollectiveTraits> kinds_;
  std::vector<CollectiveOccurrence> unpacked_;
  std::vector<Packed> packed_;
  // Of kinds_; empty or incomplete until it is needed.
  std::unordered_map<CollectiveTraits, uint32_t, KindHash> index_;
};

}  // namespace dprof::analyzer
