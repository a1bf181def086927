// SPDX-License-Identifier: Apache-2.0
// Rank 0 of 8 of a DDP training on MI300 (AMD-AGI/TraceLens 171dd74, MIT): that tool's table of the
// collectives by function, type and size, coll_analysis.csv, in microseconds.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <tuple>

#include "tests/real_traces/real_traces.h"

namespace dprof::real_traces {
namespace {

using schema::DataType;
using schema::Function;

using Kind = std::tuple<Function, DataType, int64_t>;  // and elements

struct Known {
  Kind kind;
  int64_t bytes;
  double sum_us;
  double least_us;
  double most_us;
  int64_t n;
};

// coll_analysis.csv; its sizes are in MiB.
const Known kKnown[] = {
    {{Function::kAllReduce, DataType::kBfloat16, 8'816'192},
     17'632'384,
     26'798.24,
     8'656.708,
     9'208.906,
     3},
    {{Function::kAllReduce, DataType::kBfloat16, 2'873'320},
     5'746'640,
     20'338.798,
     6'678.4,
     6'911.678,
     3},
    {{Function::kBroadcast, DataType::kBfloat16, 9'600}, 19'200, 43.675, 14.319, 14.719, 3},
    {{Function::kBroadcast, DataType::kInt64, 20}, 160, 19.597, 5.879, 7.439, 3},
};

struct Seen {
  int64_t n = 0;
  int64_t bytes = 0;
  int64_t sum_ns = 0;
  int64_t least_ns = INT64_MAX;
  int64_t most_ns = 0;
};

TEST(Mi300Test, CollectivesAreThoseOfTheTable) {
  const Imported& imported = imported_once({"mi300_ddp/resnet_act_checkpoint.json.gz"});
  DPROF_SKIP_IF_ABSENT(imported);
  const schema::TraceReader trace = imported.trace(0);
  std::map<Kind, Seen> seen;
  const Status read = trace.for_each<schema::CollectiveRow>([&](const schema::CollectiveRow& row) {
    if (!row.start_ns || !row.end_ns) return;
    Seen& one = seen[{row.function, row.dtype, row.count.value_or(-1)}];
    const int64_t ns = *row.end_ns - *row.start_ns;
    ++one.n;
    one.bytes = row.bytes.value_or(-1);
    one.sum_ns += ns;
    one.least_ns = std::min(one.least_ns, ns);
    one.most_ns = std::max(one.most_ns, ns);
  });
  ASSERT_TRUE(read.ok());
  for (const Known& known : kKnown) {
    const auto found = seen.find(known.kind);
    ASSERT_NE(found, seen.end()) << std::get<2>(known.kind) << " elements";
    const Seen& one = found->second;
    EXPECT_EQ(one.n, known.n);
    EXPECT_EQ(one.bytes, known.bytes);
    // The table's times are whole nanoseconds.
    EXPECT_EQ(one.sum_ns, std::llround(known.sum_us * 1000));
    EXPECT_EQ(one.least_ns, std::llround(known.least_us * 1000));
    EXPECT_EQ(one.most_ns, std::llround(known.most_us * 1000));
  }
  // Beyond the table: five kernels that carry no metadata; their function is not known.
  const auto unknown = seen.find({Function::kUnknown, DataType::kUnknown, -1});
  ASSERT_NE(unknown, seen.end());
  EXPECT_EQ(unknown->second.n, 5);
  EXPECT_EQ(seen.size(), std::size(kKnown) + 1);
}

}  // namespace
}  // namespace dprof::real_traces
