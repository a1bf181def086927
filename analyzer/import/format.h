// SPDX-License-Identifier: Apache-2.0
// A foreign format: how it is recognised, and how it is read. A new one is a folder with a header
// that declares its Format, and one line in import.cpp.
#pragma once

#include <filesystem>
#include <string_view>

#include "analyzer/import/sink/file_sink.h"
#include "base/result.h"

namespace dprof::analyzer {

struct Format {
  std::string_view name;  // meta.imported_format

  // By content, never by the file's name. `head` is the beginning of the file, unpacked if it is
  // gzip; at most kHeadBytes. Formats are asked in the order of the registry: the narrow ones
  // first.
  bool (*recognises)(std::string_view head);

  // Reads the file into one or more traces of the sink (FileSink::open_trace). kNotATrace or
  // kDamaged if nothing of it can be used; the traces that it opened are then dropped. If a part
  // could be used, it says FileSink::damaged() and returns Done. A row that cannot be used is
  // skipped and counted (TraceSink::skip), it is no failure.
  Status (*read)(const std::filesystem::path& path, FileSink& sink);
};

inline constexpr size_t kHeadBytes = 65536;

}  // namespace dprof::analyzer
