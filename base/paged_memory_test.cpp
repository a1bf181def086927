// SPDX-License-Identifier: Apache-2.0
#include "base/paged_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace dprof {
namespace {

// In memory of this process now, of files that are mapped.
size_t resident_file_kb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssFile:")) return std::stoul(line.substr(8));
  }
  return 0;
}

using Tree = std::map<std::string, std::vector<std::string>>;

Tree some_tree() {
  Tree tree;
  for (int i = 0; i < 200; ++i) {
    for (int k = 0; k < i % 7; ++k)
      tree["a key that is too long for a string without a list " + std::to_string(i)].push_back(
          "and a value as long as that: " + std::to_string(k));
  }
  return tree;
}

TEST(PagedMemory, ACopyIsThereWithAllThatItOwns) {
  const Tree tree = some_tree();
  const size_t before = paged_bytes();
  const Tree copy = paged_copy(tree);
  EXPECT_GT(paged_bytes(), before);
  EXPECT_EQ(copy, tree);
  let_go_of_paged_memory();
  EXPECT_EQ(copy, tree);
}

TEST(PagedMemory, OnlyAllocationsWithinTheScopeAreThere) {
  const size_t before = paged_bytes();
  {
    const AllocatePaged outer;
    const AllocatePaged inner;
  }
  const std::vector<char> ordinary(size_t{8} << 20);
  EXPECT_EQ(paged_bytes(), before);
}

TEST(PagedMemory, WhatWasWrittenComesBack) {
  constexpr size_t kNumbers = size_t{8} << 20;
  std::vector<uint32_t> numbers;
  {
    const AllocatePaged paged;
    numbers.resize(kNumbers);
  }
  for (uint32_t i = 0; i < kNumbers; ++i) numbers[i] = i * 2654435761U;
  const size_t resident = resident_file_kb();
  let_go_of_paged_memory();
  EXPECT_LT(resident_file_kb() + kNumbers * sizeof(uint32_t) / 1024 / 2, resident);
  const ReadPagedInOrder in_order;
  for (uint32_t i = 0; i < kNumbers; ++i) ASSERT_EQ(numbers[i], i * 2654435761U);
}

TEST(PagedMemory, ItCanGrowAndEndElsewhere) {
  auto list = std::make_unique<std::vector<int>>(paged_copy(std::vector<int>(100'000, 7)));
  list->resize(200'000, 8);  // in ordinary memory
  std::thread([list = std::move(list)] {
    EXPECT_EQ((*list)[99'999], 7);
    EXPECT_EQ((*list)[100'000], 8);
  }).join();
}

// The library's buffer for it comes from the form of `new` that does not throw.
TEST(PagedMemory, AStableSortWorksInEitherMemory) {
  std::vector<std::pair<int, int>> items;
  for (int i = 0; i < 1000; ++i) items.emplace_back(i % 7, i);
  std::vector<std::pair<int, int>> paged = paged_copy(items);
  std::ranges::stable_sort(items, {}, &std::pair<int, int>::first);
  {
    const AllocatePaged scope;
    std::ranges::stable_sort(paged, {}, &std::pair<int, int>::first);
  }
  EXPECT_EQ(paged, items);
}

TEST(PagedMemory, ThreadsCopyLetGoAndRead) {
  const Tree tree = some_tree();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const Tree copy = paged_copy(tree);
        let_go_of_paged_memory();
        EXPECT_EQ(copy, tree);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

[[noreturn]] void copy_where_no_file_may_grow() {
  constexpr rlim_t kSmall = 1 << 20;
  const rlimit limit{.rlim_cur = kSmall, .rlim_max = kSmall};
  setrlimit(RLIMIT_FSIZE, &limit);
  const Tree tree = some_tree();
  std::exit(paged_copy(tree) == tree && paged_bytes() == 0 ? 0 : 1);
}

// In a process of its own: the file is opened once.
TEST(PagedMemoryDeathTest, WhereNoFileMayGrowItIsOrdinaryMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(copy_where_no_file_may_grow(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace dprof
