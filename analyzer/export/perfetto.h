// SPDX-License-Identifier: Apache-2.0
// A run as one Perfetto trace.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "analyzer/export/export.h"
#include "analyzer/export/out_file.h"
#include "analyzer/export/rank_source.h"

namespace dprof::analyzer {

// Call head() once, then rank() for each, in the order of `traces`. Tracks of a trace that is
// unreadable to its end stay empty.
class PerfettoExport {
 public:
  PerfettoExport(const ExportFindings& found, OutFile& out, ExportJob& job);
  ~PerfettoExport();

  // Data that belongs to no rank, written before them: clocks, findings.
  void head(std::span<const TraceFile> traces,
            const std::optional<std::pair<int64_t, int64_t>>& steps);
  Status rank(const RankSource& source);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dprof::analyzer
