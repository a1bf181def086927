// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/cache.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "analyzer/digest/bytes.h"
#include "analyzer/digest/shift.h"
#include "analyzer/run/run.h"
#include "base/test_support/sanitized.h"
#include "tests/support/run_builder.h"
#include "tests/support/temporary_folder.h"

namespace dprof::analyzer {
namespace {

namespace fs = std::filesystem;

class DigestCache : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("XDG_CACHE_HOME", (folder_.path() / "cache").c_str(), 1);
    test_support::RunSpec spec;
    spec.steps = 6;
    ASSERT_TRUE(test_support::write_run(run_path(), spec).ok());
  }
  void TearDown() override { unsetenv("XDG_CACHE_HOME"); }

  [[nodiscard]] fs::path run_path() const { return folder_.path() / "run"; }
  [[nodiscard]] fs::path kept() const {
    return run_path() / ".digest" / (test_support::trace_file_name(0) + ".digest");
  }
  [[nodiscard]] fs::path trace_path() const {
    return run_path() / test_support::trace_file_name(0);
  }
  [[nodiscard]] TraceFile trace() const {
    const Result<analyzer::Run> run = open_run({run_path()});
    return run.ok() ? run->traces.front() : TraceFile();
  }

  // Writes another head with a matching checksum.
  void rewrite_head(const std::string& hash, const std::string& stamp) const {
    std::ifstream file(kept(), std::ios::binary);
    std::string line;
    std::getline(file, line);
    std::string bytes{std::istreambuf_iterator<char>(file), {}};
    bytes.erase(0, 16);  // the old checksum
    const size_t words = line.rfind(' ', line.rfind(' ') - 1);
    line = line.substr(0, words) + " " + hash + " " + stamp;
    const uint64_t sum =
        XXH3_64bits_withSeed(bytes.data(), bytes.size(), XXH3_64bits(line.data(), line.size()));
    std::ofstream(kept(), std::ios::binary) << line << '\n' << fmt::format("{:016x}", sum) << bytes;
  }
  // Changes no row; the size and SQLite's change counter stay the same.
  static void change_a_byte(const fs::path& path) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(92 + 3);  // "version valid for"
    file.put('\x7f');
  }

  test_support::TemporaryFolder folder_;
};

void expect_equal(const RankDigest& a, const RankDigest& b) {
  EXPECT_EQ(a.rank, b.rank);
  EXPECT_EQ(a.span, b.span);
  EXPECT_EQ(a.events, b.events);
  EXPECT_EQ(a.ops, b.ops);
  EXPECT_EQ(a.autograd_elsewhere, b.autograd_elsewhere);
  ASSERT_EQ(a.collectives.size(), b.collectives.size());
  for (size_t i = 0; i < a.collectives.size(); ++i) {
    EXPECT_EQ(a.collectives[i].start, b.collectives[i].start);
    EXPECT_EQ(a.collectives[i].bytes, b.collectives[i].bytes);
  }
  ASSERT_EQ(a.steps.size(), b.steps.size());
  for (size_t i = 0; i < a.steps.size(); ++i) EXPECT_EQ(a.steps[i].window, b.steps[i].window);
  EXPECT_EQ(a.phases.size(), b.phases.size());
  EXPECT_EQ(a.marked.size(), b.marked.size());
  EXPECT_EQ(a.communicators.size(), b.communicators.size());
}

TEST_F(DigestCache, TheSecondDigestIsReadAndEqual) {
  const Result<RankDigest> first = cached_digest(trace());
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(fs::exists(kept()));
  const Result<RankDigest> second = cached_digest(trace());
  ASSERT_TRUE(second.ok());
  expect_equal(*first, *second);
  EXPECT_FALSE(first->collectives.empty());
}

// The first line of the stored digest without the code's fingerprint: the trace's hash and stamp.
std::pair<std::string, std::string> head_of(const fs::path& digest) {
  std::ifstream file(digest);
  std::string word, hash, stamp;
  file >> word >> word >> word >> hash >> stamp;
  return {hash, stamp};
}

// Sets the trace's last change back by a minute, and waits until that change is old, too.
void make_old(const fs::path& trace) {
  fs::last_write_time(trace, fs::file_time_type::clock::now() - std::chrono::minutes(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(150));  // the inode has just been changed
}

// The stored hash is wrong, with a matching checksum: a reader of the trace's content notices.
TEST_F(DigestCache, AStampThatFitsIsBelievedWithoutReadingTheTrace) {
  make_old(trace_path());
  ASSERT_EQ(*keep_digest(trace_path()), Keeping::kMade);
  ASSERT_NE(head_of(kept()).second, "-");
  const auto [hash, stamp] = head_of(kept());
  rewrite_head(std::string(hash.size(), '0'), stamp);
  EXPECT_EQ(*keep_digest(trace_path()), Keeping::kThere);
  rewrite_head(std::string(hash.size(), '0'), "-");
  EXPECT_EQ(*keep_digest(trace_path()), Keeping::kMade) << "without a stamp the content decides";
}

TEST_F(DigestCache, ACopyIsKnownByItsContentAndGetsItsOwnStamp) {
  make_old(trace_path());
  ASSERT_EQ(*keep_digest(trace_path()), Keeping::kMade);
  const auto [hash, stamp] = head_of(kept());
  make_old(trace_path());  // other times, as a copy has
  EXPECT_EQ(*keep_digest(trace_path()), Keeping::kThere);
  EXPECT_EQ(head_of(kept()).first, hash);
  EXPECT_NE(head_of(kept()).second, stamp);
  EXPECT_NE(head_of(kept()).second, "-");
}

// A recently changed file can change again within the resolution of its times.
TEST_F(DigestCache, AYoungTraceIsKnownByItsContentOnly) {
  const fs::file_time_type soon = fs::file_time_type::clock::now() + std::chrono::seconds(30);
  fs::last_write_time(trace_path(), soon);
  ASSERT_TRUE(cached_digest(trace()).ok());
  EXPECT_EQ(head_of(kept()).second, "-");
  change_a_byte(trace_path());
  fs::last_write_time(trace_path(), soon);
  EXPECT_EQ(*keep_digest(trace_path()), Keeping::kMade);
}

TEST_F(DigestCache, KeepingWaitsUntilTheStampSaysEnough) {
  fs::last_write_time(trace_path(), fs::file_time_type::clock::now());
  ASSERT_EQ(*keep_digest(trace_path()), Keeping::kMade);
  EXPECT_NE(head_of(kept()).second, "-");
}

TEST_F(DigestCache, AChangeWithTheOldTimesIsSeen) {
  make_old(trace_path());
  const fs::file_time_type then = fs::last_write_time(trace_path());
  ASSERT_EQ(*keep_digest(trace_path()), Keeping::kMade);
  change_a_byte(trace_path());
  fs::last_write_time(trace_path(), then);
  EXPECT_EQ(*keep_digest(trace_path()), Keeping::kMade);
}

TEST_F(DigestCache, WhatSqliteHasNotPutIntoTheFileYetIsReadEachTime) {
  std::ofstream(trace_path().string() + "-wal") << "a log";
  ASSERT_EQ(*keep_digest(trace_path()), Keeping::kNoPlace);
  EXPECT_FALSE(fs::exists(kept()));
}

// The old digest remains beside the new trace, as after a file is replaced.
TEST_F(DigestCache, AChangedTraceIsReadAnew) {
  ASSERT_TRUE(cached_digest(trace()).ok());
  fs::rename(run_path(), folder_.path() / "old");
  test_support::RunSpec spec;
  spec.steps = 9;
  ASSERT_TRUE(test_support::write_run(run_path(), spec).ok());
  fs::create_directories(kept().parent_path());
  fs::copy_file(folder_.path() / "old" / ".digest" / kept().filename(), kept());
  const Result<RankDigest> digest = cached_digest(trace());
  ASSERT_TRUE(digest.ok());
  EXPECT_EQ(digest->steps.size(), 9U);
}

TEST_F(DigestCache, ADamagedFileCountsAsNone) {
  const Result<RankDigest> first = cached_digest(trace());
  ASSERT_TRUE(first.ok());
  const auto size = static_cast<int64_t>(fs::file_size(kept()));
  // Each byte before the digest (key and checksum), then some of the digest.
  constexpr int64_t kEach = kSanitized ? 4 : 1;
  const int64_t later = std::max<int64_t>(1, size / repetitions(97));
  for (int64_t at = 0; at < size; at += at < 200 ? kEach : later) {
    ASSERT_TRUE(cached_digest(trace()).ok());  // repairs it
    {
      std::fstream file(kept(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(at);
      const char was = static_cast<char>(file.get());
      file.seekp(at);
      file.put(static_cast<char>(was ^ 0x5a));
    }
    const Result<RankDigest> again = cached_digest(trace());
    ASSERT_TRUE(again.ok());
    expect_equal(*first, *again);
  }
  fs::resize_file(kept(), fs::file_size(kept()) / 2);
  expect_equal(*first, *cached_digest(trace()));
}

TEST_F(DigestCache, AnOpenTraceIsNotKept) {
  TraceFile open = trace();
  open.ended.clear();
  ASSERT_TRUE(cached_digest(open).ok());
  EXPECT_FALSE(fs::exists(kept()));
}

// A file instead of the folder, because root can write into any folder.
TEST_F(DigestCache, WhereTheRunCannotBeWrittenTheUsersCacheIsUsed) {
  std::ofstream(run_path() / ".digest") << "in the way";
  const Result<RankDigest> first = cached_digest(trace());
  ASSERT_TRUE(first.ok());
  const fs::path cache = folder_.path() / "cache" / "dprof" / "digest";
  ASSERT_TRUE(fs::exists(cache));
  EXPECT_EQ(std::distance(fs::directory_iterator(cache), fs::directory_iterator()), 1);
  expect_equal(*first, *cached_digest(trace()));
}

// A recorder stores it before the run is known.
TEST_F(DigestCache, OneDigestServesEveryPlaceOnTheAxisAndEveryRank) {
  ASSERT_TRUE(keep_digest(trace_path()).ok());
  const fs::file_time_type made = fs::last_write_time(kept());
  const Result<RankDigest> here = cached_digest(trace());
  TraceFile moved = trace();
  moved.shift_ns += 1'000;
  moved.rank = 7;
  const Result<RankDigest> there = cached_digest(moved);
  ASSERT_TRUE(here.ok() && there.ok());
  EXPECT_EQ(fs::last_write_time(kept()), made);
  EXPECT_EQ(there->rank, 7);
  EXPECT_EQ((there->span.begin - here->span.begin).ns, 1'000);
  expect_equal(*there, *digest_rank(moved));
}

// Every time field, as shown by the bytes of the digest.
TEST_F(DigestCache, ShiftingThereAndBackChangesNothing) {
  RankDigest digest = *digest_rank(trace());
  const std::string before = bytes_of(digest);
  shift_times(digest, 123'456'789);
  EXPECT_NE(bytes_of(digest), before);
  shift_times(digest, -123'456'789);
  EXPECT_EQ(bytes_of(digest), before);
}

TEST_F(DigestCache, BytesAreOfNoRunUntilTheyArePutIntoOne) {
  TraceFile moved = trace();
  moved.shift_ns = 5'000;
  moved.rank = 3;
  for (const bool cache : {false, true}) {
    const Result<std::string> bytes = digest_bytes(moved, cache);
    ASSERT_TRUE(bytes.ok());
    EXPECT_EQ(digest_of(*bytes)->rank, 0);
    expect_equal(*digest_in_run(*bytes, moved), *digest_rank(moved));
  }
  EXPECT_FALSE(digest_in_run("no digest", moved));
}

}  // namespace
}  // namespace dprof::analyzer
