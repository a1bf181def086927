// SPDX-License-Identifier: Apache-2.0
#include "analyzer/lanes/related.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/digest/test_support/gpu_trace.h"
#include "tests/support/temporary_folder.h"

namespace dprof::analyzer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RelatedRowsTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::vector<RelatedRow> of(std::string_view table, int64_t row, size_t most = 100) {
    Result<std::vector<RelatedRow>> rows = related_rows(written, table, row, most);
    EXPECT_TRUE(rows.ok()) << (rows.ok() ? "" : rows.error().what);
    return rows.ok() ? *std::move(rows) : std::vector<RelatedRow>();
  }
  test_support::TemporaryFolder folder;
  TraceFile written;
};

TEST_F(RelatedRowsTest, ALaunchLeadsToWhatItLaunchedAndBack) {
  GpuTrace trace;
  trace.range(0, 0, 100, "forward");                  // host_range 1
  const int64_t first = trace.launch(0, 5, 6);        // 2
  trace.launch(0, 7, 8);                              // 3, without a recorded activity
  trace.activity(7, 10, 20, first, "kernel");         // gpu_activity 1
  trace.activity(7, 20, 30, first, "second kernel");  // 2: of a graph, say
  trace.collective(first);                            // collective 1
  written = trace.write(folder.path() / "rank-00000.dprof");
  const RelatedRow launch{"host_range", 2};
  const RelatedRow kernel{"gpu_activity", 1};
  const RelatedRow next{"gpu_activity", 2};
  const RelatedRow collective{"collective", 1};
  EXPECT_THAT(of("host_range", 2), ElementsAre(collective, kernel, next));
  EXPECT_THAT(of("gpu_activity", 2), ElementsAre(collective, kernel, launch));
  EXPECT_THAT(of("collective", 1), ElementsAre(kernel, next, launch));
  EXPECT_THAT(of("host_range", 3), IsEmpty());
  EXPECT_THAT(of("host_range", 1), IsEmpty()) << "a range without a correlation";
  EXPECT_THAT(of("host_range", 2, 1), SizeIs(1));
  EXPECT_THAT(of("host_range", 99), IsEmpty());
}

TEST_F(RelatedRowsTest, ATraceThatIsGoneIsAnError) {
  EXPECT_FALSE(related_rows({.path = folder.path() / "gone"}, "host_range", 1).ok());
}

}  // namespace
}  // namespace dprof::analyzer
