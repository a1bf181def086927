// SPDX-License-Identifier: Apache-2.0
// Fuzz target: the packet by which a process introduces itself, and what the recorder makes of its
// variables. hello_fuzz_test.cpp also calls it with bounded random input.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/check.h"
#include "collector/recorder/common/text.h"
#include "collector/recorder/ranks/hello.h"
#include "collector/recorder/ranks/rank.h"

namespace dprof::recorder {
namespace {

constexpr int kMaxRanks = 1 << 20;  // what find_rank() promises

void check_number(std::optional<int> number) {
  DPROF_CHECK(!number || (*number >= 0 && *number <= kMaxRanks));
}

}  // namespace
}  // namespace dprof::recorder

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dprof::recorder;
  const dprof::Result<ParsedHello> hello = parse_hello(std::span(data, size));
  if (!hello.ok()) {
    DPROF_CHECK(!hello.error().what.empty());
    return 0;
  }
  // What goes into the trace and the index is UTF-8 without an end in it.
  DPROF_CHECK(clean_text(hello->command) == hello->command);
  DPROF_CHECK(clean_text(hello->error) == hello->error);
  const RankInfo rank = find_rank(hello->variables);
  for (const std::optional<int> number :
       {rank.rank, rank.local_rank, rank.world_size, rank.local_world_size, rank.node_rank,
        rank.restart_count}) {
    check_number(number);
  }
  DPROF_CHECK(!rank.launcher.empty());
  return 0;
}
