// SPDX-License-Identifier: Apache-2.0
// Tables as Parquet. Debian has no library that writes it for C++: Python's pyarrow makes it of
// CSV, in a process of its own.
#pragma once

#include <filesystem>

#include "analyzer/export/rank_source.h"

namespace dprof::analyzer {

// kUnsupported with what to install where no Python with pyarrow is found.
Status has_parquet();

// TABLE.csv of each of the folder's tables becomes TABLE.parquet; they are the job's files then.
Status make_parquet(const std::filesystem::path& folder, bool raw, ExportJob& job);

// parquet.py, which is a part of the program.
[[nodiscard]] const char* parquet_script();

}  // namespace dprof::analyzer
