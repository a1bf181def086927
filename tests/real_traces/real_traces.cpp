// SPDX-License-Identifier: Apache-2.0
#include "tests/real_traces/real_traces.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/support/paths.h"

namespace dprof::real_traces {

namespace fs = std::filesystem;

fs::path shared_traces() {
  const char* set = std::getenv("DPROF_SHARED_TRACES");
  return set != nullptr ? fs::path(set)
                        : fs::path(dprof::test_support::source_dir()) / ".." / "shared" / "traces";
}

Imported::Imported(const std::vector<std::string>& files) {
  std::vector<fs::path> paths;
  for (const std::string& file : files) {
    paths.push_back(shared_traces() / file);
    absent_ = absent_ || !fs::exists(paths.back());
  }
  if (absent_) return;
  Result<analyzer::ImportSummary> summary = analyzer::import_files(paths, run());
  EXPECT_TRUE(summary.ok()) << summary.error().what;
  if (summary.ok()) summary_ = *std::move(summary);
}

schema::TraceReader Imported::trace(int rank) const {
  Result<schema::TraceReader> reader =
      schema::TraceReader::open(run() / fmt::format("rank-{:05}.dprof", rank));
  EXPECT_TRUE(reader.ok()) << reader.error().what;
  return *std::move(reader);
}

const Imported& imported_once(const std::vector<std::string>& files) {
  static std::map<std::vector<std::string>, Imported> known;
  return known.try_emplace(files, files).first->second;
}

std::string content_of(const fs::path& file) {
  gzFile input = gzopen(file.c_str(), "rb");
  std::string text;
  std::string block(1 << 20, '\0');
  for (int got = 0; (got = gzread(input, block.data(), static_cast<unsigned>(block.size()))) > 0;)
    text.append(block, 0, static_cast<size_t>(got));
  gzclose(input);
  return text;
}

std::map<std::pair<std::string, std::string>, int64_t> count_events(const fs::path& file) {
  const auto json = nlohmann::json::parse(content_of(file));
  std::map<std::pair<std::string, std::string>, int64_t> counts;
  for (const auto& event : json.is_array() ? json : json["traceEvents"])
    ++counts[{event.value("ph", ""), event.value("cat", "")}];
  return counts;
}

namespace {

template <typename Row>
Interval span_of(const Row& row) {
  return {{row.start_ns}, {row.start_ns + row.duration_ns.value_or(0)}};
}

}  // namespace

std::vector<NamedRange> ranges_of(const schema::TraceReader& trace) {
  std::vector<NamedRange> all;
  EXPECT_TRUE(trace
                  .for_each<schema::HostRangeRow>([&](const schema::HostRangeRow& row) {
                    all.push_back({row, trace.string(row.name_id), span_of(row)});
                  })
                  .ok());
  return all;
}

std::vector<NamedActivity> activities_of(const schema::TraceReader& trace) {
  std::vector<NamedActivity> all;
  EXPECT_TRUE(trace
                  .for_each<schema::GpuActivityRow>([&](const schema::GpuActivityRow& row) {
                    all.push_back({row, trace.string(row.name_id), span_of(row)});
                  })
                  .ok());
  return all;
}

}  // namespace dprof::real_traces
