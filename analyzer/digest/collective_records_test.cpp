// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/collective_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/fields.h"

namespace dprof::analyzer {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

bool are_equal(const CollectiveOccurrence& a, const CollectiveOccurrence& b) {
  return boost::pfr::structure_tie(a) == boost::pfr::structure_tie(b);
}
bool are_equal(const CollectiveRecord& a, const CollectiveRecord& b) {
  return static_cast<const CollectiveTraits&>(a) == static_cast<const CollectiveTraits&>(b) &&
         are_equal(static_cast<const CollectiveOccurrence&>(a),
                   static_cast<const CollectiveOccurrence&>(b));
}

CollectiveRecord call_at(int64_t at_ns) {
  CollectiveRecord record;
  record.row = 1;
  record.enqueue = TraceNs{at_ns};
  record.start = TraceNs{at_ns + 10};
  record.end = TraceNs{at_ns + 30};
  return record;
}

class RandomRecords {
 public:
  explicit RandomRecords(uint32_t seed) : random_(seed) {}

  CollectiveRecord next() {
    CollectiveRecord record;
    record.bytes = maybe(number());
    record.count = maybe(number());
    record.root = maybe(below(4));
    record.peer = maybe(below(4));
    record.bucket = maybe(below(3));
    record.communicator = static_cast<uint32_t>(below(3));
    record.function = below(2) == 0 ? schema::Function::kAllReduce : schema::Function::kSend;
    record.state =
        below(2) == 0 ? schema::CollectiveState::kComplete : schema::CollectiveState::kUnobserved;
    record.captured = below(2) == 0;
    record.by_training_thread = below(2) == 0;
    record.row = number();
    record.sequence = number();
    record.group_sequence = maybe(number());
    record.correlation = maybe(number());
    const int64_t at = number() - number();
    record.enqueue = time(at);
    record.start = time(at);
    record.end = time(at);
    record.failed = time(at);
    record.ready = time(at);
    record.device_ready = time(at);
    return record;
  }
  size_t below(size_t bound) { return random_() % bound; }

 private:
  // From 0 to far beyond 32 bits, borders included.
  int64_t number() {
    switch (below(4)) {
      case 0:
        return int64_t{UINT32_MAX} - 2 + static_cast<int64_t>(below(4));
      case 1:
        return (int64_t{1} << 61) + static_cast<int64_t>(below(1000));
      default:
        return static_cast<int64_t>(below(1000));
    }
  }
  template <typename T>
  std::optional<int64_t> maybe(T value) {
    return below(3) == 0 ? std::nullopt : std::optional(static_cast<int64_t>(value));
  }
  std::optional<TraceNs> time(int64_t near) {
    constexpr int64_t kBorder = int64_t{1} << 31U;
    switch (below(4)) {
      case 0:
        return std::nullopt;
      case 1:
        return TraceNs{near + kBorder - 2 + static_cast<int64_t>(below(4))};
      case 2:
        return TraceNs{near - kBorder - 2 + static_cast<int64_t>(below(4))};
      default:
        return TraceNs{near + static_cast<int64_t>(below(1000))};
    }
  }

  std::mt19937 random_;
};

TEST(CollectiveRecordsTest, AreWhatWasPutIn) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    RandomRecords random(seed);
    std::vector<CollectiveRecord> list;
    CollectiveRecords records;
    for (int i = 0; i < 500; ++i) {
      list.push_back(random.next());
      records.push_back(list.back());
    }
    records.shrink_to_fit();
    for (int i = 0; i < 500; ++i) {
      const size_t at = random.below(list.size());
      list[at] = random.next();
      records.set(at, list[at]);
    }
    ASSERT_THAT(records, SizeIs(list.size()));
    for (size_t i = 0; i < list.size(); ++i) EXPECT_TRUE(are_equal(records[i], list[i])) << i;
    EXPECT_TRUE(are_equal(records.back(), list.back()));
  }
}

TEST(CollectiveRecordsTest, AnEditedRecordIsWrittenBack) {
  CollectiveRecords records;
  for (const int64_t at : {100, 200}) records.push_back(call_at(at));
  {
    CollectiveRecords::Edited record = records.edit(1);
    record.bytes = 8;
    record.end = TraceNs{int64_t{1} << 50U};
  }
  records.edit_all([](CollectiveRecord& record) { record.bucket = 3; });
  EXPECT_EQ(records[0].bytes, std::nullopt);
  EXPECT_EQ(records[1].bytes, 8);
  EXPECT_EQ(records[1].end, (TraceNs{int64_t{1} << 50U}));
  EXPECT_EQ(records[0].bucket, 3);
  EXPECT_EQ(records[1].bucket, 3);
}

TEST(CollectiveRecordsTest, SortedByArrivalThoseWithoutOneLast) {
  CollectiveRecords records;
  const int64_t arrivals[] = {300, 0, 100, 300, 200};
  for (size_t i = 0; i < std::size(arrivals); ++i) {
    CollectiveRecord record = arrivals[i] == 0 ? CollectiveRecord() : call_at(arrivals[i]);
    record.row = static_cast<int64_t>(i);
    records.push_back(record);
  }
  records.edit(2).enqueue.reset();  // its begin counts
  records.sort_by_arrival();
  std::vector<int64_t> rows;
  for (const CollectiveRecord& record : records) rows.push_back(record.row);
  EXPECT_THAT(rows, ElementsAre(2, 4, 0, 3, 1));
}

TEST(CollectiveRecordsTest, SearchedLikeAList) {
  CollectiveRecords records;
  for (int64_t at = 0; at < 100; ++at) records.push_back(call_at(at * 100));
  const auto found = std::ranges::lower_bound(records, TraceNs{4'150}, {},
                                              [](const CollectiveRecord& c) { return *c.enqueue; });
  EXPECT_EQ(found - records.begin(), 42);
  EXPECT_EQ(found->start, TraceNs{4'210});
}

}  // namespace
}  // namespace dprof::analyzer
