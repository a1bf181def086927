// SPDX-License-Identifier: Apache-2.0
// Recordings that this project did not write, for tests with known answers. They lie beside the
// project (../shared/traces, or DPROF_SHARED_TRACES); a test skips itself where they are absent.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/import/import.h"
#include "base/interval.h"
#include "schema/trace_reader.h"
#include "tests/support/temporary_folder.h"

namespace dprof::real_traces {

std::filesystem::path shared_traces();

// A recording, imported into a folder of its own.
class Imported {
 public:
  // Files or folders below shared_traces().
  explicit Imported(const std::vector<std::string>& files);

  [[nodiscard]] bool absent() const { return absent_; }
  [[nodiscard]] const analyzer::ImportSummary& summary() const { return summary_; }
  [[nodiscard]] std::filesystem::path run() const { return folder_.path() / "run"; }
  [[nodiscard]] schema::TraceReader trace(int rank) const;

 private:
  test_support::TemporaryFolder folder_;
  bool absent_ = false;
  analyzer::ImportSummary summary_;
};

// The same one for all cases of a program that ask for it: under a sanitizer these run in one
// process, and an import takes seconds.
const Imported& imported_once(const std::vector<std::string>& files);

#define DPROF_SKIP_IF_ABSENT(imported) \
  if ((imported).absent()) GTEST_SKIP() << "the recordings are not in ../shared/traces"

// The content of a file, plain or .gz.
std::string content_of(const std::filesystem::path& file);

// How many events a Chrome JSON file (plain or .gz) has of each (ph, cat), by a plain parser.
std::map<std::pair<std::string, std::string>, int64_t> count_events(
    const std::filesystem::path& file);

template <typename Row>
std::vector<Row> rows(const schema::TraceReader& trace) {
  return *trace.read_all<Row>();
}

// Rows with their names, in the order of the trace.
struct NamedRange {
  schema::HostRangeRow row;
  std::string name;
  Interval span;
};
struct NamedActivity {
  schema::GpuActivityRow row;
  std::string name;
  Interval span;
};
std::vector<NamedRange> ranges_of(const schema::TraceReader& trace);
std::vector<NamedActivity> activities_of(const schema::TraceReader& trace);

// The union of the spans of those that `wanted` takes.
template <typename Rows, typename Wanted>
IntervalSet cover(const Rows& rows, Wanted&& wanted) {
  std::vector<Interval> spans;
  for (const auto& row : rows) {
    if (wanted(row)) spans.push_back(row.span);
  }
  return union_of(std::move(spans));
}

}  // namespace dprof::real_traces
