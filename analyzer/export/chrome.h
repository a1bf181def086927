// SPDX-License-Identifier: Apache-2.0
// One rank as Chrome JSON in Kineto's form, as read by HTA, TensorBoard's plugin and `dprof
// import`.
#pragma once

#include "analyzer/export/out_file.h"
#include "analyzer/export/rank_source.h"

namespace dprof::analyzer {

// "rank-00003.1760000000000.pt.trace.json.gz": TensorBoard reads the worker and the time from it.
[[nodiscard]] std::string chrome_file_name(const RankSource& source);

// Times are those of the rank's own clock, as in Kineto's files.
Status write_chrome(const RankSource& source, OutFile& out, ExportJob& job);

}  // namespace dprof::analyzer
