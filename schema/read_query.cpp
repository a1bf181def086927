// SPDX-License-Identifier: Apache-2.0
#include "schema/read_query.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "schema/database.h"
#include "schema/tables.h"

// A library built without them lacks these functions: then no column has an origin.
#pragma weak sqlite3_column_table_name
#pragma weak sqlite3_column_origin_name

namespace dprof::schema {
namespace {

constexpr int kOpsBetweenChecks = 10'000;  // SQLite VM steps: some thousand checks a second

// Pragmas that only describe the file: with a table's or an index's name, and without one.
constexpr std::array<std::string_view, 8> kPragmasOfNames = {
    "table_info", "table_xinfo", "table_list",       "index_list",
    "index_info", "index_xinfo", "foreign_key_list", "database_list"};
constexpr std::array<std::string_view, 9> kPragmas = {
    "user_version", "application_id",  "schema_version", "page_count",    "page_size",
    "encoding",     "compile_options", "function_list",  "freelist_count"};

bool only_reads(const char* pragma, const char* argument) {
  if (pragma == nullptr) return false;
  std::string name(pragma);
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (std::ranges::find(kPragmasOfNames, name) != kPragmasOfNames.end()) return true;
  return argument == nullptr && std::ranges::find(kPragmas, name) != kPragmas.end();
}

int authorize(void*, int action, const char* first, const char* second, const char*, const char*) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      return std::string_view(second) == "load_extension" ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_UPDATE:  // asked where a table-valued function is declared; statements cannot do it
      return std::string_view(first) == "sqlite_master" ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_PRAGMA:
      return only_reads(first, second) ? SQLITE_OK : SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

// Errors in the text are the user's; all others are the file's or the machine's.
Code code_of_query(int sqlite_code) {
  switch (sqlite_code & 0xff) {
    case SQLITE_ERROR:
    case SQLITE_AUTH:
    case SQLITE_TOOBIG:
    case SQLITE_MISMATCH:
    case SQLITE_RANGE:
    case SQLITE_READONLY:
    case SQLITE_INTERRUPT:
      return Code::kUsage;
    case SQLITE_CANTOPEN:
      return Code::kNotFound;
    case SQLITE_NOMEM:
      return Code::kNoMemory;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Code::kDamaged;
    default:
      return Code::kIo;
  }
}

std::string text_of(sqlite3_stmt* statement, int column) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
  const auto bytes = static_cast<size_t>(sqlite3_column_bytes(statement, column));
  return text == nullptr ? std::string() : std::string(text, bytes);
}

Error refused() {
  return {Code::kUsage, "only reading is possible: traces are never written",
          "ask with SELECT, WITH, EXPLAIN, or PRAGMA table_info(TABLE)"};
}

}  // namespace

struct ReadQuery::Guard {
  std::function<bool()> is_unwanted;
};

void ReadQuery::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
void ReadQuery::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

ReadQuery::ReadQuery(std::filesystem::path path, std::unique_ptr<Guard> guard)
    : path_(std::move(path)), guard_(std::move(guard)) {}
ReadQuery::ReadQuery(ReadQuery&&) noexcept = default;
ReadQuery& ReadQuery::operator=(ReadQuery&&) noexcept = default;
ReadQuery::~ReadQuery() = default;

Result<ReadQuery> ReadQuery::open(const std::filesystem::path& trace,
                                  std::function<bool()> is_unwanted) {
  ReadQuery query(trace, std::make_unique<Guard>(Guard{std::move(is_unwanted)}));
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(trace.c_str(), &handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
  query.handle_.reset(handle);
  if (code != SQLITE_OK) return fail(query.error());
  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
  if (const Status status = query.check_trace(); !status.ok()) return fail(status.error());
  sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kMostValueBytes);
  sqlite3_limit(handle, SQLITE_LIMIT_COLUMN, kMostColumns);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_set_authorizer(handle, &authorize, nullptr);
  sqlite3_progress_handler(
      handle, kOpsBetweenChecks,
      [](void* of) {
        const auto* asked = static_cast<const Guard*>(of);
        return asked->is_unwanted && asked->is_unwanted() ? 1 : 0;
      },
      query.guard_.get());
  return query;
}

// SQLite opens a file lazily and treats one of a few bytes as an empty database: SELECT 1 would
// succeed on any file.
Status ReadQuery::check_trace() const {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(handle_.get(), "PRAGMA application_id", -1, &statement, nullptr);
  const OwnedStatement owned(statement);
  if (statement == nullptr || sqlite3_step(statement) != SQLITE_ROW) return fail(error());
  if (sqlite3_column_int64(statement, 0) == kApplicationId) return Done{};
  return fail(Code::kNotATrace, fmt::format("{}: it is no dprof trace, or cut off", path_.string()),
              "`dprof recover RUN` may help");
}

Error ReadQuery::error() const {
  const int code = sqlite3_errcode(handle_.get());
  if (code == SQLITE_AUTH || code == SQLITE_READONLY) return refused();
  const Code kind = code_of_query(code);
  const std::string message = sqlite3_errmsg(handle_.get());
  if (kind == Code::kUsage) return {kind, message, {}};
  return {kind, fmt::format("{}: {}", path_.string(), message),
          kind == Code::kNotFound ? "is it still there?"
                                  : "the file may be damaged; `dprof recover RUN` may help"};
}

Status ReadQuery::prepare(std::string_view text) {
  statement_.reset();
  error_offset_.reset();
  sqlite3_stmt* statement = nullptr;
  const char* rest = text.data();
  const int code = sqlite3_prepare_v2(handle_.get(), text.data(), static_cast<int>(text.size()),
                                      &statement, &rest);
  if (code != SQLITE_OK) {
#if SQLITE_VERSION_NUMBER >= 3038000
    const int offset = sqlite3_error_offset(handle_.get());
    if (offset >= 0) error_offset_ = static_cast<size_t>(offset);
#endif
    return fail(error());
  }
  statement_.reset(statement);
  const std::string_view remaining = text.substr(static_cast<size_t>(rest - text.data()));
  if (Status status = finish_prepare(text, remaining); !status.ok()) {
    statement_.reset();
    return status;
  }
  return Done{};
}

// Refuses text that is no statement, several statements, and statements that can write.
Status ReadQuery::finish_prepare(std::string_view text, std::string_view rest) {
  sqlite3_stmt* const first = statement_.get();
  if (first == nullptr) return fail(Code::kUsage, "there is no statement in it");
  while (!rest.empty()) {
    sqlite3_stmt* second = nullptr;
    const char* after = rest.data();
    const int code = sqlite3_prepare_v2(handle_.get(), rest.data(), static_cast<int>(rest.size()),
                                        &second, &after);
    const OwnedStatement owned(second);
    if (code != SQLITE_OK || second != nullptr) {
      const size_t begins = std::min(rest.find_first_not_of(" \t\r\n;"), rest.size() - 1);
      error_offset_ = text.size() - rest.size() + begins;
      return fail(Code::kUsage, "one statement at a time", "leave out what follows the first ;");
    }
    if (after == rest.data()) break;  // a comment, or blanks
    rest.remove_prefix(static_cast<size_t>(after - rest.data()));
  }
  if (sqlite3_stmt_readonly(first) == 0 || sqlite3_column_count(first) == 0) return fail(refused());
  return Done{};
}

std::vector<QueryColumn> ReadQuery::columns() const {
  std::vector<QueryColumn> columns;
  const auto text = [](const char* name) { return std::string(name == nullptr ? "" : name); };
  sqlite3_stmt* statement = statement_.get();
  for (int c = 0; c < sqlite3_column_count(statement); ++c) {
    QueryColumn column{.name = text(sqlite3_column_name(statement, c))};
    if (&sqlite3_column_table_name != nullptr && &sqlite3_column_origin_name != nullptr) {
      column.table = text(sqlite3_column_table_name(statement, c));
      column.origin = text(sqlite3_column_origin_name(statement, c));
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

Result<bool> ReadQuery::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return fail(error());
}

SqlValue ReadQuery::value(int column) const {
  sqlite3_stmt* statement = statement_.get();
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return int64_t{sqlite3_column_int64(statement, column)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_TEXT:
      return text_of(statement, column);
    case SQLITE_BLOB:
      return SqlBlob{sqlite3_column_bytes(statement, column)};
    default:
      return std::monostate();
  }
}

}  // namespace dprof::schema
