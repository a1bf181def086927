// SPDX-License-Identifier: Apache-2.0
// Tables as Parquet. Debian has no C++ library that writes it, so Python's pyarrow converts CSV, in
// a separate process.
#pragma once

#include <filesystem>

#include "analyzer/export/rank_source.h"

namespace dprof::analyzer {

// kUnsupported, with the package to install, if there is no Python with pyarrow.
Status has_parquet();

// Converts each TABLE.csv in the folder to TABLE.parquet; these become the job's files.
Status make_parquet(const std::filesystem::path& folder, bool raw, ExportJob& job);

// parquet.py, embedded in the program.
[[nodiscard]] const char* parquet_script();

}  // namespace dprof::analyzer
