// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/strings.h"

#include <gtest/gtest.h>

#include <string>

#include "base/test_support/sanitized.h"
#include "collector/inject/test_support/local_session.h"

namespace dprof::inject {
namespace {

uint64_t arena_used() { return runtime.mapping.header()->arena_used.load(); }

uint64_t loss_of(wire::SharedLoss loss) {
  return runtime.mapping.header()->losses[static_cast<uint32_t>(loss)].count.load();
}

std::string text_of(uint32_t id) {
  const wire::ArenaText text = wire::arena_text(runtime.mapping, id);
  return {text.text, text.length};
}

uint32_t id_of(const std::string& text) {
  return intern(runtime.mapping, text.data(), text.size());
}

// A program that runs for weeks and numbers its names.
TEST(Strings, NamesWithNumbersNeverTakeTheLastRoom) {
  DPROF_SKIP_IF_SANITIZED();
  const LocalSession session;
  const std::string tail(100, 'x');
  uint64_t made = 0;
  while (loss_of(wire::SharedLoss::kTextCut) == 0 && made < 2'000'000) {
    ASSERT_NE(id_of("request " + std::to_string(made++) + tail), 0u);
  }
  EXPECT_GT(arena_used(), wire::kArenaBytes / 2) << "as long as there is room they are whole";
  const uint64_t full = arena_used();
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_EQ(text_of(id_of("request " + std::to_string(made++) + tail)), "request #" + tail);
  }
  EXPECT_LT(arena_used() - full, 4096u);
  EXPECT_GT(loss_of(wire::SharedLoss::kTextCut), 100'000u) << "and counted";
  EXPECT_EQ(text_of(id_of("a new name")), "a new name");
  EXPECT_EQ(text_of(id_of("layer.12.weight")), "layer.#.weight");
  EXPECT_EQ(loss_of(wire::SharedLoss::kArenaFull), 0u);
}

// With more names than the table has places.
TEST(Strings, ANameThatComesAgainAndAgainIsFoundInACrowdedTable) {
  const LocalSession session;
  for (int i = 0; i < 100'000; ++i) id_of("crowd " + std::to_string(i));
  const uint32_t id = id_of("backward");
  const uint64_t before = arena_used();
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(id_of("backward"), id);
  EXPECT_EQ(arena_used(), before) << "it took a place of another one";
}

}  // namespace
}  // namespace dprof::inject
