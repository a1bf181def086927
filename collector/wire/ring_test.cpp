// SPDX-License-Identifier: Apache-2.0
#include "collector/wire/ring.h"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <thread>
#include <vector>

namespace dprof::wire {
namespace {

// A ring between two guard pages' worth of known bytes, which reveal a stray write.
class RingTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kGuardSlots = 64;
  static constexpr unsigned char kGuard = 0xa5;

  RingTest() {
    memset(static_cast<void*>(memory_.data()), kGuard, memory_.size() * kSlotBytes);
    memset(static_cast<void*>(slots()), 0, kRingBytes);
  }
  ~RingTest() override {
    const auto* bytes = reinterpret_cast<const unsigned char*>(memory_.data());
    for (uint64_t i = 0; i < kGuardSlots * kSlotBytes; ++i) {
      EXPECT_EQ(bytes[i], kGuard) << "written before the ring";
      EXPECT_EQ(bytes[kGuardSlots * kSlotBytes + kRingBytes + i], kGuard) << "or behind it";
    }
  }

  Record* slots() { return memory_.data() + kGuardSlots; }
  RingWriter writer() { return {&shared_, slots(), &control_}; }
  RingReader reader() { return {&shared_, slots()}; }

  static Record numbered(uint64_t number) {
    Record record{};
    record.kind = Kind::kRangeBegin;
    record.slots = 1;
    record.ticks = number;
    record.range_begin = {};
    record.range_begin.key = number * 3;
    return record;
  }

  RingShared shared_{};
  ControlPage control_{};
  std::vector<Record> memory_{kRingSlots + 2 * kGuardSlots};
};

uint64_t drain_ticks(RingReader& reader, std::vector<uint64_t>& ticks) {
  return reader.drain([&](const ReadRecord& read) { ticks.push_back(read.record.ticks); });
}

TEST_F(RingTest, HandsOutWhatWasPushedInOrder) {
  RingWriter write = writer();
  RingReader read = reader();
  std::vector<uint64_t> ticks;
  EXPECT_EQ(drain_ticks(read, ticks), 0u);
  uint64_t pushed = 0;
  for (int lap = 0; lap < 5; ++lap) {  // 50,000: around the ring three times
    for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(write.push(numbered(++pushed)));
    EXPECT_EQ(drain_ticks(read, ticks), 10'000u);
  }
  for (uint64_t i = 0; i < ticks.size(); ++i) ASSERT_EQ(ticks[i], i + 1);
  EXPECT_FALSE(read.damaged());
}

TEST_F(RingTest, FullRingDropsTheNewAndCounts) {
  RingWriter write = writer();
  RingReader read = reader();
  for (uint64_t i = 0; i < kRingSlots - kEndReserve; ++i) ASSERT_TRUE(write.push(numbered(i)));
  EXPECT_FALSE(write.push(numbered(777)));
  EXPECT_FALSE(write.push(numbered(778)));
  EXPECT_EQ(shared_.dropped.count.load(), 2u);
  EXPECT_EQ(shared_.dropped.first_ticks.load(), 777u);
  EXPECT_EQ(shared_.dropped.last_ticks.load(), 778u);
  std::vector<uint64_t> ticks;
  EXPECT_EQ(drain_ticks(read, ticks), kRingSlots - kEndReserve);
  EXPECT_EQ(ticks.back(), kRingSlots - kEndReserve - 1);
  EXPECT_TRUE(write.push(numbered(779))) << "there is room again";
}

TEST_F(RingTest, TheLastSlotsAreLeftForEnds) {
  RingWriter write = writer();
  uint64_t others = 0;
  while (write.push(numbered(others))) ++others;
  EXPECT_EQ(others, kRingSlots - kEndReserve);
  const unsigned char bytes[kSlotBytes] = {};
  EXPECT_FALSE(write.push(numbered(0), bytes, sizeof bytes)) << "a longer one neither";
  uint64_t named = 0;
  while (write.push(numbered(named), Room::kNamedEnd)) ++named;
  EXPECT_EQ(named, kEndReserve - kNestedReserve);
  uint64_t nested = 0;
  while (write.push(numbered(nested), Room::kNestedEnd)) ++nested;
  EXPECT_EQ(nested, kNestedReserve);
}

TEST_F(RingTest, ContinuationIsWholeAcrossTheWrap) {
  RingWriter write = writer();
  RingReader read = reader();
  unsigned char bytes[(kMaxSlots - 1) * kSlotBytes];
  for (size_t i = 0; i < sizeof bytes; ++i) bytes[i] = static_cast<unsigned char>(i);
  uint64_t records = 0;
  uint64_t wrapped = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto more = static_cast<uint32_t>(i % (sizeof bytes + 1));
    const uint64_t from = shared_.head.load() & kRingMask;
    ASSERT_TRUE(write.push(numbered(static_cast<uint64_t>(i)), bytes, more));
    if ((shared_.head.load() & kRingMask) < from) ++wrapped;
    read.drain([&](const ReadRecord& one) {
      ++records;
      EXPECT_EQ(one.record.slots, 1 + (more + kSlotBytes - 1) / kSlotBytes);
      ASSERT_GE(one.more_bytes, more);
      EXPECT_EQ(memcmp(one.more, bytes, more), 0);
    });
  }
  EXPECT_EQ(records, 20'000u);
  EXPECT_GT(wrapped, 1u);
  EXPECT_FALSE(write.push(numbered(0), bytes, sizeof bytes + 1)) << "more than a record may have";
}

TEST_F(RingTest, LongRecordIsDroppedWhole) {
  RingWriter write = writer();
  RingReader read = reader();
  const unsigned char bytes[128] = {};
  const auto fill = [&](uint64_t i) { return write.push(numbered(i), Room::kNestedEnd); };
  for (uint64_t i = 0; i < kRingSlots - 2; ++i) ASSERT_TRUE(fill(i));
  EXPECT_FALSE(write.push(numbered(1), bytes, sizeof bytes, Room::kNestedEnd))
      << "two slots are free, it needs three";
  EXPECT_EQ(shared_.dropped.count.load(), 1u);
  std::vector<uint64_t> ticks;
  EXPECT_EQ(drain_ticks(read, ticks), kRingSlots - 2);
}

TEST_F(RingTest, NextOwnerGoesOnWhereTheLastEnded) {
  RingReader read = reader();
  std::vector<uint64_t> ticks;
  for (uint64_t owner = 1; owner <= 3; ++owner) {
    RingWriter write = writer();
    ASSERT_TRUE(write.push(numbered(owner)));
    EXPECT_EQ(drain_ticks(read, ticks), 1u);
  }
  EXPECT_EQ(ticks, (std::vector<uint64_t>{1, 2, 3}));
}

TEST_F(RingTest, ReaderSurvivesADamagedHead) {
  RingReader read = reader();
  for (const uint64_t head : {uint64_t{kRingSlots} + 1, ~uint64_t{0}, uint64_t{1} << 63}) {
    shared_.head.store(shared_.tail.load() + head);
    std::vector<uint64_t> ticks;
    EXPECT_EQ(drain_ticks(read, ticks), 0u);
    EXPECT_TRUE(read.damaged());
  }
}

TEST_F(RingTest, ReaderSurvivesDamagedSlots) {
  RingWriter write = writer();
  RingReader read = reader();
  for (const int slots_of_record : {0, 5, 255}) {
    Record record = numbered(1);
    record.slots = static_cast<uint8_t>(slots_of_record);
    ASSERT_TRUE(write.push(record));
    uint64_t unusable = 0;
    read.drain([&](const ReadRecord& one) {
      EXPECT_EQ(one.record.kind, Kind::kNone);
      EXPECT_EQ(one.more_bytes, 0u);
      ++unusable;
    });
    EXPECT_EQ(unusable, 1u);
    EXPECT_TRUE(read.damaged());
  }
  // A record that claims more slots than were published.
  Record record = numbered(1);
  record.slots = 3;
  ASSERT_TRUE(write.push(record));
  read.drain([](const ReadRecord& one) { EXPECT_EQ(one.more_bytes, 0u); });
}

TEST_F(RingTest, WriterSurvivesADamagedTail) {
  for (const uint64_t tail : {uint64_t{1} << 40, ~uint64_t{0}, ~uint64_t{0} - 300}) {
    shared_.tail.store(tail);
    RingWriter write = writer();
    for (int i = 0; i < 40'000; ++i) write.push(numbered(1));  // the guards are the expectation
    shared_.tail.store(shared_.head.load());
    RingWriter next = writer();
    EXPECT_TRUE(next.push(numbered(1))) << "and a tail that is right again is believed";
  }
}

TEST_F(RingTest, WakesASleepingRecorderAtHalfFull) {
  RingWriter write = writer();
  RingReader read = reader();
  for (uint64_t i = 0; i < kRingSlots / 2 - 1; ++i) write.push(numbered(i));
  control_.recorder_asleep.store(1);
  EXPECT_EQ(control_.wake.load(), 0u);
  write.push(numbered(0));
  EXPECT_EQ(control_.wake.load(), 1u);
  EXPECT_EQ(control_.recorder_asleep.load(), 0u);
  write.push(numbered(0));
  EXPECT_EQ(control_.wake.load(), 1u) << "once is enough";

  std::vector<uint64_t> ticks;
  drain_ticks(read, ticks);
  control_.recorder_asleep.store(1);
  for (uint64_t i = 0; i < kRingSlots / 4; ++i) write.push(numbered(i));
  EXPECT_EQ(control_.wake.load(), 1u) << "a quarter is no reason";
  for (uint64_t i = 0; i < kRingSlots / 2; ++i) write.push(numbered(i));
  EXPECT_EQ(control_.wake.load(), 2u);
}

TEST_F(RingTest, SlowReaderGivesRoomBackAsItGoes) {
  RingWriter write = writer();
  RingReader read = reader();
  for (uint64_t i = 0; i < kRingSlots; ++i) ASSERT_TRUE(write.push(numbered(i), Room::kNestedEnd));
  uint64_t seen = 0;
  read.drain([&](const ReadRecord&) {
    if (++seen == kGiveBackSlots + 1) {
      EXPECT_TRUE(write.push(numbered(0)));
    }
  });
  EXPECT_EQ(seen, kRingSlots);
}

// Under TSan this also shows that the two sides need no lock.
TEST_F(RingTest, ProducerAndConsumerAgree) {
  constexpr uint64_t kRecords = 300'000;
  std::atomic<bool> done = false;
  uint64_t accepted = 0;
  std::thread producer([&] {
    RingWriter write = writer();
    unsigned char bytes[100];
    for (uint64_t i = 1; i <= kRecords; ++i) {
      memset(bytes, static_cast<int>(i & 0xff), sizeof bytes);
      const bool kept =
          i % 10 == 0 ? write.push(numbered(i), bytes, sizeof bytes) : write.push(numbered(i));
      accepted += kept ? 1 : 0;
    }
    done.store(true);
  });
  RingReader read = reader();
  uint64_t got = 0;
  uint64_t last = 0;
  const auto check = [&](const ReadRecord& one) {
    ++got;
    ASSERT_GT(one.record.ticks, last);
    last = one.record.ticks;
    ASSERT_EQ(one.record.range_begin.key, last * 3);
    if (last % 10 == 0) {
      ASSERT_EQ(one.more_bytes, 2 * kSlotBytes);
      ASSERT_EQ(one.more[0], last & 0xff);
      ASSERT_EQ(one.more[99], last & 0xff);
    }
  };
  while (!done.load()) read.drain(check);
  producer.join();
  read.drain(check);
  EXPECT_EQ(got, accepted);
  EXPECT_EQ(accepted + shared_.dropped.count.load(), kRecords);
  EXPECT_FALSE(read.damaged());
}

}  // namespace
}  // namespace dprof::wire
