// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/cache.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "analyzer/run/run.h"
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
  [[nodiscard]] TraceFile trace() const {
    const Result<analyzer::Run> run = open_run({run_path()});
    return run.ok() ? run->traces.front() : TraceFile();
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

// The old digest stays beside the new trace, as when a file is replaced.
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
  // Each byte of what stands before the digest (key and sum), then some of the digest.
  for (int64_t at = 0; at < size; at += at < 200 ? 1 : std::max<int64_t>(1, size / 97)) {
    ASSERT_TRUE(cached_digest(trace()).ok());  // makes it whole again
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

// A file where the folder should be, for root may write into any folder.
TEST_F(DigestCache, WhereTheRunCannotBeWrittenTheUsersCacheIsUsed) {
  std::ofstream(run_path() / ".digest") << "in the way";
  const Result<RankDigest> first = cached_digest(trace());
  ASSERT_TRUE(first.ok());
  const fs::path cache = folder_.path() / "cache" / "dprof" / "digest";
  ASSERT_TRUE(fs::exists(cache));
  EXPECT_EQ(std::distance(fs::directory_iterator(cache), fs::directory_iterator()), 1);
  expect_equal(*first, *cached_digest(trace()));
}

TEST_F(DigestCache, AnotherPlaceOnTheAxisIsAnotherDigest) {
  const Result<RankDigest> here = cached_digest(trace());
  TraceFile moved = trace();
  moved.shift_ns += 1'000;
  const Result<RankDigest> there = cached_digest(moved);
  ASSERT_TRUE(here.ok() && there.ok());
  EXPECT_EQ((there->span.begin - here->span.begin).ns, 1'000);
}

}  // namespace
}  // namespace dprof::analyzer
