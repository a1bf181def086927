// SPDX-License-Identifier: Apache-2.0
// The tables of a run's traces as CSV: RFC 4180, UTF-8; NULL is empty, an empty text stands in
// quotes.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "analyzer/export/out_file.h"
#include "analyzer/export/rank_source.h"

namespace dprof::analyzer {

// One file a table, with the rank before its columns; a table without rows has only its head.
class CsvExport {
 public:
  // `raw`: numbers of enumerations and names as they are stored, not their words.
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

// The tables that have a file; without `raw` the texts stand where they are used.
[[nodiscard]] std::vector<const schema::Table*> csv_tables(bool raw);

// As a field: in quotes where it must be.
void append_csv(std::string& line, std::string_view text);

}  // namespace dprof::analyzer
