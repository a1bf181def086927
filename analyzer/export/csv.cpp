// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/csv.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/export/json_text.h"
#include "analyzer/import/text.h"
#include "schema/database.h"

namespace dprof::analyzer {
namespace {

bool is_name(const schema::Column& column) { return column.refers == "string"; }

// Whether there is a view with words instead of numbers; there is none if it would be identical.
bool has_words(const schema::Table& table) {
  return std::ranges::any_of(table.columns, [](const schema::Column& column) {
    return column.type == schema::Type::kEnum || is_name(column);
  });
}

std::string_view shown_name(const schema::Column& column, bool raw) {
  std::string_view name = column.name;
  if (!raw && is_name(column)) name.remove_suffix(std::string_view("_id").size());
  return name;
}

std::string head_of(const schema::Table& table, bool raw) {
  const bool has_own = std::ranges::find(table.columns, "rank", &schema::Column::name) !=
                       std::ranges::end(table.columns);
  std::string head = has_own ? "trace_rank" : "rank";  // each name only once
  for (const schema::Column& column : table.columns)
    head += fmt::format(",{}", shown_name(column, raw));
  return head + "\n";
}

// Selects rows that touch the window, like RankSource::wants(); "" = all rows.
std::string condition(const schema::Table& table, const std::optional<Interval>& window) {
  if (!window) return "";
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(table.columns,
                               [&](const auto& column) { return column.name == name; });
  };
  std::string begin;
  std::string end;
  if (has("time_ns")) {
    begin = end = "time_ns";
  } else if (has("start_ns") && has("duration_ns")) {
    begin = "start_ns";
    end = "start_ns + coalesce(duration_ns, 0)";
  } else if (has("start_ns") && has("end_ns")) {
    begin = has("enqueue_ns") ? "coalesce(enqueue_ns, start_ns)" : "start_ns";
    end = fmt::format("coalesce(end_ns, start_ns, {})", begin);
  } else {
    return "";
  }
  return fmt::format(" WHERE {0} < {2} AND ({1} > {3} OR {0} >= {3})", begin, end, window->end.ns,
                     window->begin.ns);
}

// A column missing in the file's schema version is NULL.
std::string select_of(const schema::Table& table, bool raw, int64_t version,
                      const std::optional<Interval>& window) {
  const bool words = !raw && has_words(table);
  std::string columns;
  for (const schema::Column& column : table.columns) {
    if (!columns.empty()) columns += ", ";
    const std::string name = fmt::format("\"{}\"", shown_name(column, !words));
    columns += column.since > version               ? "NULL"
               : column.type == schema::Type::kBlob ? fmt::format("hex({})", name)
                                                    : name;
  }
  return fmt::format("SELECT {} FROM \"{}{}\"{}", columns, table.name, words ? "_text" : "",
                     condition(table, window));
}

Status write_rows(schema::Statement& rows, int64_t rank, OutFile& out, ExportJob& job) {
  std::string line;
  const int columns = rows.column_count();
  while (true) {
    const Result<bool> more = rows.step();
    if (!more.ok()) return fail(more.error());
    if (!*more) return out.status();
    append_number(line, rank);
    for (int column = 0; column < columns; ++column) {
      line += ',';
      if (rows.is_null(column)) continue;
      const std::string_view text = rows.text(column);
      if (std::ranges::all_of(text, [](char c) { return c > 0; })) {
        append_csv(line, text);
      } else {
        append_csv(line, clean_utf8(std::string(text)));
      }
    }
    line += '\n';
    out.write(line);
    line.clear();
    job.wrote();
    if (job.is_stopped()) return job.go_on();
  }
}

}  // namespace

void append_csv(std::string& line, std::string_view text) {
  if (!text.empty() && text.find_first_of(",\"\r\n") == std::string_view::npos) {
    line += text;
    return;
  }
  line += '"';
  for (const char c : text) {
    if (c == '"') line += '"';
    line += c;
  }
  line += '"';
}

std::vector<const schema::Table*> csv_tables(bool raw) {
  std::vector<const schema::Table*> tables;
  for (const schema::Table& table : schema::kTables) {
    if (raw || table.name != "string") tables.push_back(&table);
  }
  return tables;
}

Result<CsvExport> CsvExport::create(const std::filesystem::path& folder, bool raw, ExportJob& job) {
  CsvExport all(raw, job);
  for (const schema::Table* table : csv_tables(raw)) {
    Result<OutFile> out = OutFile::create(folder / fmt::format("{}.csv", table->name));
    if (!out.ok()) return fail(out.error());
    out->write(head_of(*table, raw));
    all.files_.push_back({table, *std::move(out)});
  }
  return all;
}

Status CsvExport::rank(const RankSource& source) {
  Result<schema::Database> trace =
      schema::Database::open(source.file().path, schema::Database::Mode::kReadOnly);
  if (!trace.ok()) return fail(trace.error());
  const Result<int64_t> version = trace->query_int("PRAGMA user_version");
  if (!version.ok()) return fail(version.error());
  for (File& file : files_) {
    if (file.table->since > *version) continue;
    Result<schema::Statement> rows =
        trace->prepare(select_of(*file.table, raw_, *version, source.window()));
    if (!rows.ok()) return fail(rows.error());
    Status good = write_rows(*rows, source.file().rank, file.out, *job_);
    if (!good.ok()) return good;
  }
  return Done{};
}

Status CsvExport::finish() {
  for (File& file : files_) {
    if (Status good = file.out.finish(); !good.ok()) return good;
  }
  return Done{};
}

}  // namespace dprof::analyzer
