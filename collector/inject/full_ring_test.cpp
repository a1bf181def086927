// SPDX-License-Identifier: Apache-2.0
// Records of all kinds into rings that are mostly full: whatever is lost, no range ever gets the
// end of another one.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "collector/inject/core_table.h"
#include "collector/inject/nvtx/nvtx_ranges.h"
#include "collector/inject/test_support/local_session.h"
#include "collector/wire/arena.h"
#include "collector/wire/enum_values.h"

namespace dprof::inject {
namespace {

using wire::Kind;

struct Window {
  uint64_t from = 0;
  uint64_t to = 0;
  [[nodiscard]] bool holds(uint64_t ticks) const { return from <= ticks && ticks <= to; }
};
struct Truth {
  Window begin;
  Window end;
};

class FullRingTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  void SetUp() override {
    session_.emplace();
    random_.seed(GetParam());
  }
  void TearDown() override {
    drain();
    session_.reset();
  }

  int any(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  // --- what the program does; each range has a name of its own ---
  template <typename Begin>
  size_t begin(const Begin& how) {
    const size_t range = truth_.size();
    Truth& truth = truth_.emplace_back();
    truth.begin.from = ticks();
    how("r" + std::to_string(range), range + 1);
    truth_[range].begin.to = ticks();
    return range;
  }
  template <typename End>
  void end(size_t range, const End& how) {
    truth_[range].end.from = ticks();
    how();
    truth_[range].end.to = ticks();
  }

  static nvtx::DomainHandle domain_of(int number) {
    return reinterpret_cast<nvtx::DomainHandle>(static_cast<uintptr_t>(number));
  }
  static wire::Record range(Kind kind, uint64_t key) {
    wire::Record record{};
    record.kind = kind;
    record.slots = 1;
    if (kind == Kind::kRangeBegin) {
      record.range_begin = {};
      record.range_begin.key = key;
      record.range_begin.category = wire::range_category::kOp;
    } else {
      record.range_end = {};
      record.range_end.key = key;
      record.range_end.category = wire::range_category::kOp;
    }
    return record;
  }

  // --- what a reader reconstructs from the records ---
  void drain() {
    if (thread_state == nullptr) return;
    const uint32_t ring = thread_state->ring;
    if (!reader_) reader_.emplace(runtime.mapping.ring(ring), runtime.mapping.slots(ring));
    reader_->drain([this](const wire::ReadRecord& one) { read(one.record); });
  }
  void read(const wire::Record& record) {
    if (record.kind == Kind::kRangeBegin) {
      const size_t range = range_named(record.string);
      EXPECT_TRUE(truth_[range].begin.holds(record.ticks));
      ++begins_;
      const wire::RangeBegin& begun = record.range_begin;
      if (begun.key != 0) {
        keyed_[begun.key] = range;
      } else {
        open_[{begun.category, begun.domain}].push_back(range);
      }
    } else if (record.kind == Kind::kRangeEnd) {
      const wire::RangeEnd& ended = record.range_end;
      std::optional<size_t> range;
      if (ended.key != 0) {
        if (const auto found = keyed_.find(ended.key); found != keyed_.end()) range = found->second;
      } else if (std::vector<size_t>& open = open_[{ended.category, ended.domain}]; !open.empty()) {
        range = open.back();
        open.pop_back();
      }
      if (!range) return;  // its begin was lost
      ++ends_;
      EXPECT_TRUE(truth_[*range].end.holds(record.ticks))
          << "the end of another range than r" << *range;
    }
  }
  static size_t range_named(uint32_t id) {
    const wire::ArenaText text = wire::arena_text(runtime.mapping, id);
    return std::stoul(std::string(text.text + 1, text.length - 1));
  }

  std::optional<LocalSession> session_;
  std::mt19937 random_;
  std::vector<Truth> truth_;
  std::optional<wire::RingReader> reader_;
  std::map<std::pair<uint8_t, uint32_t>, std::vector<size_t>> open_;
  std::map<uint64_t, size_t> keyed_;
  int64_t begins_ = 0;
  int64_t ends_ = 0;
};

TEST_P(FullRingTest, NoRangeGetsTheEndOfAnother) {
  constexpr int kDeepest = 150;  // beyond OpenRanges::kDepth, too
  std::vector<std::pair<int, size_t>> nvtx_open;
  std::vector<size_t> torch_open;
  std::vector<size_t> async_open;
  const char payload[3 * wire::kSlotBytes] = {};
  for (int i = 0; i < 200'000; ++i) {
    switch (any(10)) {
      case 0:
      case 9:
        if (nvtx_open.size() < kDeepest) {
          const int domain = any(3);
          const size_t range = begin([&](const std::string& name, uint64_t) {
            nvtx::push(domain_of(domain), nvtx::message_of(name.c_str()));
          });
          nvtx_open.emplace_back(domain, range);
        }
        break;
      case 1:
        if (torch_open.size() < kDeepest) {
          torch_open.push_back(begin([](const std::string& name, uint64_t id) {
            wire::Record record = range(Kind::kRangeBegin, 0);
            core_table().begin_range(name.c_str(), id, &record);
          }));
        }
        break;
      case 2:
        if (async_open.size() < 400) {
          async_open.push_back(begin([](const std::string& name, uint64_t key) {
            wire::Record record = range(Kind::kRangeBegin, key);
            core_table().write(name.c_str(), &record, false);
          }));
        }
        break;
      case 3:
      case 4:
        if (!nvtx_open.empty()) {
          const auto [domain, range] = nvtx_open.back();
          nvtx_open.pop_back();
          const nvtx::PayloadData data{1000, sizeof payload, payload};
          const bool carries = any(4) == 0;
          end(range, [&, domain = domain] {
            nvtx::pop(domain_of(domain), carries ? &data : nullptr, carries ? 1 : 0);
          });
        }
        break;
      case 5:
        if (!torch_open.empty()) {
          const size_t range = torch_open.back();
          torch_open.pop_back();
          end(range, [&] { core_table().end_range(range + 1, wire::range_category::kOp); });
        }
        break;
      case 6:
        if (!async_open.empty()) {
          const size_t at = static_cast<size_t>(any(static_cast<int>(async_open.size())));
          const size_t range = async_open[at];
          async_open.erase(async_open.begin() + static_cast<ptrdiff_t>(at));
          end(range, [&] {
            wire::Record record = FullRingTest::range(Kind::kRangeEnd, range + 1);
            core_table().write(nullptr, &record, true);
          });
        }
        break;
      default: {  // neither a begin nor an end
        wire::Record record{};
        record.kind = Kind::kMemoryEvent;
        record.slots = 1;
        for (int n = any(40); n > 0; --n) core_table().write(nullptr, &record, false);
      }
    }
    if (any(8000) == 0) drain();
  }
  drain();
  EXPECT_GT(begins_, 1000);
  EXPECT_GT(ends_, 1000);
  EXPECT_GT(runtime.mapping.ring(thread_state->ring)->dropped.count.load(), 10'000U)
      << "it was full";
}

INSTANTIATE_TEST_SUITE_P(Seeds, FullRingTest, ::testing::Range(1U, 7U));

}  // namespace
}  // namespace dprof::inject
