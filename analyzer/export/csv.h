// SPDX-License-Identifier: Apache-2.0
// The tables of a run's traces as CSV: RFC 4180, UTF-8; NULL is empty, an empty text is quoted.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "analyzer/export/out_file.h"
#include "analyzer/export/rank_source.h"

namespace dprof::analyzer {

// One file per table, with the rank before its columns; a table without rows has only a header.
class CsvExport {
 public:
  // `raw`: enumerations and names as the stored numbers instead of words.
  static Result<CsvExport> create(const std::filesystem::path& folder, bool raw, ExportJob& job);
  Status rank(const RankSource& source);
  Status finish();

 private:
  struct File {
    const schema::Table* table;
    OutFile out;
  };
  CsvExport(bool raw, ExportJob& job) : raw_(raw), job_(&job) {}

  bool raw_;
  ExportJob* job_;
  std::vector<File> files_;
};

// The tables that get a file; without `raw`, texts are written in place of their ids.
[[nodiscard]] std::vector<const schema::Table*> csv_tables(bool raw);

// Appends a field, quoted if necessary.
void append_csv(std::string& line, std::string_view text);

}  // namespace dprof::analyzer
