// SPDX-License-Identifier: Apache-2.0
#include "schema/trace_reader.h"

#include <fmt/format.h>

#include <charconv>
#include <mutex>
#include <set>

#include "schema/ddl.h"

namespace dprof::schema {
namespace {

constexpr char kDamagedHint[] =
    "the file is damaged or was changed by another program; `dprof recover RUN` may help";
constexpr std::string_view kWhatATraceIs =
    "a dprof trace is one rank's file in a run folder: RUN/rank-00000.dprof";

Error not_a_trace(const std::filesystem::path& path, std::string_view why) {
  return {Code::kNotATrace, fmt::format("{}: {}", path.string(), why), std::string(kWhatATraceIs)};
}

// Reports what the file is before SQLite does: its own messages ("file is not a database") do not
// help.
Status check_file(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    return fail(Code::kNotFound, fmt::format("{}: no such file", path.string()),
                "is the path right?");
  }
  if (!std::filesystem::is_regular_file(status))
    return fail(not_a_trace(path, "not a regular file"));
  if (std::filesystem::file_size(path, error) == 0 && !error)
    return fail(not_a_trace(path, "the file is empty"));
  return Done{};
}

Result<int64_t> check_version(const Database& trace) {
  const std::filesystem::path& path = trace.path();
  const Result<int64_t> application = trace.query_int("PRAGMA application_id");
  if (!application.ok()) {
    return application.error().code == Code::kNotATrace
               ? fail(not_a_trace(path, "not an SQLite file"))
               : fail(application.error());
  }
  if (*application != kApplicationId) {
    return fail(not_a_trace(
        path,
        fmt::format("an SQLite file of another program (application_id {:#x})", *application)));
  }
  const Result<int64_t> version = trace.query_int("PRAGMA user_version");
  if (!version.ok()) return fail(version.error());
  if (*version > kUserVersion) {
    return fail(Code::kTraceTooNew,
                fmt::format("{}: schema version {}, this dprof reads up to {}", path.string(),
                            *version, kUserVersion),
                "open it with the dprof that recorded it (see meta.dprof_version), or upgrade");
  }
  return *version;
}

// A file's version and the SQL of its tables and views; "" where that cannot be read.
std::string schema_of(const Database& trace, int64_t version) {
  std::string text = std::to_string(version);
  Result<Statement> statement = trace.prepare("SELECT sql FROM sqlite_schema");
  if (!statement.ok()) return {};
  Result<bool> row = statement->step();
  for (; row.ok() && *row; row = statement->step()) text.append("\n").append(statement->text(0));
  return row.ok() ? text : std::string();
}

// Schemas in which all columns were found: the thousands of traces of a run have one, and looking
// for each column takes a third of the time to open one.
class CompleteSchemas {
 public:
  static CompleteSchemas& of_process() {
    static CompleteSchemas all;
    return all;
  }
  bool contains(const std::string& schema) {
    const std::lock_guard lock(mutex_);
    return known_.contains(schema);
  }
  void add(std::string schema) {
    const std::lock_guard lock(mutex_);
    if (!schema.empty()) known_.insert(std::move(schema));
  }

 private:
  std::mutex mutex_;
  std::set<std::string> known_;
};

// A file can lie about its version: check that every table and column is really there.
Status check_columns(const Database& trace, int64_t version) {
  std::string schema = schema_of(trace, version);
  if (CompleteSchemas::of_process().contains(schema)) return Done{};
  for (const Table& table : kTables) {
    if (table.since > version) continue;
    const Result<Statement> probe = trace.prepare(
        fmt::format("SELECT {} FROM \"{}\"", column_list(table, version), table.name));
    if (!probe.ok()) {
      return fail(Code::kDamaged, fmt::format("{} (table {})", probe.error().what, table.name),
                  kDamagedHint);
    }
  }
  CompleteSchemas::of_process().add(std::move(schema));
  return Done{};
}

// Has no row numbers: a view, or the table of texts by key.
bool is_without_row_numbers(const Table& table, int64_t version) {
  return table.name == "meta" || is_view(table, version);
}

// The order of a table's rows, as SQL. A view's key is that of the table behind it.
std::string_view order_of(const Table& table, int64_t version) {
  if (!is_without_row_numbers(table, version)) return "rowid";
  return table.key.empty() ? table.order : table.key;
}

}  // namespace

Result<TraceReader> TraceReader::open(const std::filesystem::path& path) {
  if (const Status good = check_file(path); !good.ok()) return fail(good.error());
  Result<Database> database = Database::open(path, Database::Mode::kReadOnly);
  if (!database.ok()) return fail(database.error());
  const Result<int64_t> version = check_version(*database);
  if (!version.ok()) return fail(version.error());
  if (const Status good = check_columns(*database, *version); !good.ok()) return fail(good.error());

  TraceReader reader(*std::move(database), *version);
  const Status read = reader.for_each<StringRow>([&](const StringRow& row) {
    if (row.id < 0 || row.id > int64_t{1} << 32) return;  // a damaged id must not size the table
    const auto index = static_cast<size_t>(row.id);
    if (index >= reader.strings_.size()) reader.strings_.resize(index + 1);
    reader.strings_[index] = row.value;
  });
  if (!read.ok()) return fail(read.error());
  reader.read_meta();
  if (reader.strings_.empty()) reader.strings_.emplace_back();
  return reader;
}

// Where a page of the table is damaged, what can be read counts.
void TraceReader::read_meta() {
  Result<Statement> statement = database_.prepare("SELECT key, value FROM meta");
  if (!statement.ok()) return;
  for (Result<bool> row = statement->step(); row.ok() && *row; row = statement->step())
    meta_.emplace(statement->text(0), statement->text(1));
}

std::optional<std::string> TraceReader::meta(std::string_view key) const {
  const auto found = meta_.find(key);
  return found != meta_.end() ? std::optional(found->second) : std::nullopt;
}

std::optional<int64_t> TraceReader::meta_int(std::string_view key) const {
  const std::optional<std::string> text = meta(key);
  int64_t value = 0;
  if (!text) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return value;
}

const std::string& TraceReader::string(int64_t id) const {
  return id > 0 && static_cast<size_t>(id) < strings_.size() ? strings_[static_cast<size_t>(id)]
                                                             : strings_[0];
}

Result<int64_t> TraceReader::count(std::string_view table) const {
  for (const Table& declared : kTables) {
    if (declared.name == table && declared.since > version_) return 0;
  }
  return database_.query_int(fmt::format("SELECT COUNT(*) FROM \"{}\"", table));
}

Error TraceReader::damaged(const Table& table, std::string_view why) const {
  return {Code::kDamaged, fmt::format("{}: {} (table {})", path().string(), why, table.name),
          kDamagedHint};
}

std::optional<PageScan> TraceReader::scan(const Table& table) const {
  if (is_without_row_numbers(table, version_) || table.since > version_) return std::nullopt;
  return PageScan::start(database_, table, version_);
}

Result<Statement> TraceReader::select(const Table& table, std::string_view where,
                                      int64_t skipped) const {
  // A table that an older file cannot have is empty.
  if (table.since > version_) {
    return database_.prepare(fmt::format("SELECT {} WHERE 0", column_list(table, version_)));
  }
  return database_.prepare(fmt::format(
      "SELECT {} FROM \"{}\"{}{} ORDER BY {} LIMIT -1 OFFSET {}", column_list(table, version_),
      table.name, where.empty() ? "" : " WHERE ", where, order_of(table, version_), skipped));
}

}  // namespace dprof::schema
