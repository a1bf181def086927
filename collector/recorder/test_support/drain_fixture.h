// SPDX-License-Identifier: Apache-2.0
// A process, a drain and its trace in one place: write records, drain, read rows back.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "collector/recorder/rows/drain.h"
#include "collector/recorder/test_support/fake_process.h"
#include "schema/trace_reader.h"
#include "tests/support/temporary_folder.h"

namespace dprof::recorder {

// Ticks are nanoseconds: time 0 is tick 0.
inline constexpr wire::TickScale kNsScale = {
    .tick0 = 0, .multiplier = 1, .shift = 0, .source = wire::ClockSource::kMonotonic};

class DrainTest : public ::testing::Test {
 protected:
  static constexpr int kPid = 100;  // the main thread's id

  DrainTest()
      : clock_(kNsScale),
        process_(kNsScale),
        output_(*TraceOutput::create(folder_.path() / "trace.dprof")),
        drain_(process_.mapping(), clock_, kPid, *output_) {}

  // Ends the trace and opens it. Call once.
  schema::TraceReader read(bool killed = false) {
    drain_.finish(killed);
    const Result<bool> finished = output_->finish();
    EXPECT_TRUE(finished.ok());
    return *schema::TraceReader::open(folder_.path() / "trace.dprof");
  }
  template <typename Row>
  static std::vector<Row> rows(const schema::TraceReader& trace) {
    const Result<std::vector<Row>> all = trace.read_all<Row>();
    EXPECT_TRUE(all.ok());
    return *all;
  }

  test_support::TemporaryFolder folder_;
  RunClock clock_;
  FakeProcess process_;
  std::unique_ptr<TraceOutput> output_;
  Drain drain_;
};

}  // namespace dprof::recorder
