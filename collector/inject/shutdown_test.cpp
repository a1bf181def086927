// SPDX-License-Identifier: Apache-2.0
// Every order in which a process can end: actions before the end and in exit handlers on both sides
// of ours, and each way to end. Real processes; the GPU is the FAKE CUPTI.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "collector/inject/test_support/mini_recorder.h"
#include "collector/inject/test_support/soon.h"
#include "tests/support/paths.h"

namespace dprof::inject {
namespace {

using Words = std::vector<std::string>;
using std::chrono::steady_clock;

enum class Reached { kLinked, kPreloaded };

bool contains(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

class ShutdownTest : public ::testing::TestWithParam<Reached> {
 protected:
  void SetUp() override {
    if (GetParam() == Reached::kPreloaded && !std::filesystem::exists(library())) {
      GTEST_SKIP() << "libdprof.so is not built with a sanitizer";
    }
  }
  static std::string library() { return test_support::lib_dir() + "/libdprof.so"; }

  std::unique_ptr<Child> start(Words command) const {
    std::vector<std::pair<std::string, std::string>> environment = {
        {wire::kSocketVariable, recorder_.path()},
        {"DPROF_CUPTI_LIBRARY", test_support::test_bin_dir() + "/libfake_cupti.so"},
        // glibc keeps the text of dlerror() for a thread interrupted by the exit.
        {"ASAN_OPTIONS", "detect_leaks=0"},
        // Otherwise ThreadSanitizer sleeps a second at each exit, which would distort the measured
        // time.
        {"TSAN_OPTIONS", "halt_on_error=1:atexit_sleep_ms=0"},
        {"FAKE_CUPTI_STRICT", "1"}};
    const bool linked = GetParam() == Reached::kLinked;
    if (!linked) environment.emplace_back("LD_PRELOAD", library());
    command.insert(command.begin(),
                   test_support::test_bin_dir() + "/ending_probe" + (linked ? "_linked" : ""));
    return std::make_unique<Child>(command, environment);
  }

  // A failed wait takes 2 s each time; a busy machine is slow now and then.
  void ends_well(const std::string& end, const Words& acts) {
    SCOPED_TRACE(::testing::PrintToString(acts) + " then " + end);
    constexpr int kTries = 5;
    for (int i = 1; end_once(end, acts) >= std::chrono::milliseconds(1900); ++i) {
      ASSERT_LT(i, kTries) << "it waited for one that will not answer";
    }
  }

  // The time it took to end.
  steady_clock::duration end_once(const std::string& end, const Words& acts) {
    steady_clock::duration took{};
    check_end(end, acts, took);
    return took;
  }

  void check_end(const std::string& end, const Words& acts, steady_clock::duration& took) {
    Words command{end};
    command.insert(command.end(), acts.begin(), acts.end());
    const auto child = start(command);
    const auto session = recorder_.accept();
    ASSERT_NE(session, nullptr);
    const bool dies = std::any_of(acts.begin(), acts.end(),
                                  [](const std::string& act) { return act.ends_with(":die"); });
    if (dies) {
      ASSERT_EQ(child->hear(), "die");
      session->hang_up();
      // The helper notices within 100 ms: before, while and after it switches off.
      std::this_thread::sleep_for(std::chrono::milliseconds(deaths_++ * 37 % 130));
      child->say("go on");
    }
    const auto begin = steady_clock::now();
    EXPECT_EQ(child->wait(), 0) << "97: CUPTI's rules were broken";
    took = steady_clock::now() - begin;
    EXPECT_EQ(session->header().clean_end.load() & 0xff, wire::kCleanEnd);
    const std::vector<SeenRecord> seen = session->drain();
    const auto saw = [&](const std::string& text) {
      return std::any_of(seen.begin(), seen.end(),
                         [&](const SeenRecord& one) { return one.text == text; });
    };
    EXPECT_TRUE(saw("main"));
    if (dies) return;
    // CUDA that starts in main or in a handler before ours is recorded completely.
    const bool cuda = contains(acts, "main:cuda") || contains(acts, "late:cuda");
    EXPECT_EQ(saw("last words"), cuda);
    if (end != "both") {
      EXPECT_EQ(saw("late"), end == "return" || end == "thread");
    }
  }

  MiniRecorder recorder_;
  int deaths_ = 0;
};

// Each of four things in each of three places: before the end, before our handler, after it.
TEST_P(ShutdownTest, WhateverComesInWhateverHandler) {
  const std::string places[] = {"main", "late", "early"};
  for (int i = 0; i < 81 && !HasFatalFailure(); ++i) {
    ends_well(i % 2 == 0 ? "return" : "thread",
              {places[i % 3] + ":die", places[i / 3 % 3] + ":cuda", places[i / 9 % 3] + ":fork",
               places[i / 27] + ":dlclose"});
  }
  for (int i = 0; i < 27 && !HasFatalFailure(); ++i) {  // the recorder lives
    ends_well(i % 2 == 0 ? "return" : "thread",
              {places[i % 3] + ":cuda", places[i / 3 % 3] + ":fork", places[i / 9] + ":dlclose"});
  }
}

TEST_P(ShutdownTest, WhateverOrderBeforeAnyEnd) {
  Words acts{"main:cuda", "main:die", "main:dlclose", "main:fork"};
  do {
    for (const char* end : {"return", "_exit", "quick_exit", "both"}) {
      // Only the preloaded library intercepts _exit.
      if (GetParam() == Reached::kLinked && (end[0] == '_' || end[0] == 'b')) continue;
      ends_well(end, acts);
      if (HasFatalFailure()) return;
    }
  } while (std::next_permutation(acts.begin(), acts.end()));
}

TEST_P(ShutdownTest, EveryEndBringsWhatWasHeldBack) {
  for (const char* end : {"return", "thread", "_exit", "quick_exit", "both"}) {
    if (GetParam() == Reached::kLinked && (end[0] == '_' || end[0] == 'b')) continue;
    ends_well(end, {"main:cuda"});
  }
}

INSTANTIATE_TEST_SUITE_P(Inject, ShutdownTest,
                         ::testing::Values(Reached::kLinked, Reached::kPreloaded),
                         [](const auto& test) {
                           return test.param == Reached::kLinked ? "Linked" : "Preloaded";
                         });

}  // namespace
}  // namespace dprof::inject
