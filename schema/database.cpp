// SPDX-License-Identifier: Apache-2.0
#include "schema/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <utility>

namespace dprof::schema {
namespace {

Code code_of(int sqlite_code) {
  switch (sqlite_code & 0xff) {
    case SQLITE_NOTADB:
      return Code::kNotATrace;
    case SQLITE_CORRUPT:
    case SQLITE_ERROR:  // a missing table or column
    case SQLITE_SCHEMA:
      return Code::kDamaged;
    case SQLITE_CANTOPEN:
      return Code::kNotFound;
    case SQLITE_NOMEM:
      return Code::kNoMemory;
    default:
      return Code::kIo;
  }
}

// Called while a statement is prepared, for each table, column and function in it. `within` is the
// view or trigger that names them.
int only_tables(void*, int action, const char* first, const char* second, const char*,
                const char* within) {
  const std::string_view name = first == nullptr ? "" : first;
  const std::string_view function = second == nullptr ? "" : second;
  switch (action) {
    case SQLITE_SELECT:
      return SQLITE_OK;
    case SQLITE_READ:
      return within == nullptr ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_FUNCTION:
      return function == "max" || function == "count" ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_PRAGMA:
      return name == "table_info" ? SQLITE_OK : SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

constexpr int kLongestForeignValue = 64 << 20;

// SQLite refuses all of a file that is shorter than its header says, unless its schema is writable:
// so one read transaction begins in that mode, and stays open. The file itself is immutable.
void begin_reading(sqlite3* handle) {
  sqlite3_db_config(handle, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, nullptr);
  sqlite3_exec(handle, "BEGIN; SELECT count(*) FROM sqlite_master", nullptr, nullptr, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0, nullptr);
}

void distrust(sqlite3* handle) {
  sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kLongestForeignValue);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  begin_reading(handle);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_set_authorizer(handle, &only_tables, nullptr);
}

// Never a lock, a log or a journal: also works on read-only media.
std::string immutable_uri(const std::filesystem::path& path) {
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).lexically_normal().string()) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '/' || c == '.' || c == '-' || c == '_';
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri + "?immutable=1";
}

}  // namespace

Statement::Statement(Statement&& other) noexcept
    : statement_(std::exchange(other.statement_, nullptr)) {}
Statement& Statement::operator=(Statement&& other) noexcept {
  std::swap(statement_, other.statement_);
  return *this;
}
Statement::~Statement() { sqlite3_finalize(statement_); }

void Statement::bind(int parameter, int64_t value) {
  sqlite3_bind_int64(statement_, parameter, value);
}
void Statement::bind(int parameter, std::string_view text) {
  sqlite3_bind_text(statement_, parameter, text.data() ? text.data() : "",
                    static_cast<int>(text.size()), SQLITE_STATIC);
}
void Statement::bind_blob(int parameter, std::string_view bytes) {
  sqlite3_bind_blob(statement_, parameter, bytes.data() ? bytes.data() : "",
                    static_cast<int>(bytes.size()), SQLITE_STATIC);
}
void Statement::bind_null(int parameter) { sqlite3_bind_null(statement_, parameter); }

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  sqlite3* handle = sqlite3_db_handle(statement_);
  const char* file = sqlite3_db_filename(handle, "main");
  return fail(
      code_of(code), fmt::format("{}: {}", file ? file : "", sqlite3_errmsg(handle)),
      "check the disk's space and health; `dprof recover RUN` finishes a trace whose recorder was killed");
}

void Statement::reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}
int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_, column); }
std::optional<int64_t> Statement::optional_integer(int column) const {
  // Each sqlite3_column_* looks the column up again; a value's accessors do not.
  sqlite3_value* value = sqlite3_column_value(statement_, column);
  if (sqlite3_value_type(value) == SQLITE_NULL) return std::nullopt;
  return sqlite3_value_int64(value);
}
double Statement::real(int column) const { return sqlite3_column_double(statement_, column); }
std::string_view Statement::text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  return bytes ? std::string_view(static_cast<const char*>(bytes), static_cast<size_t>(size))
               : std::string_view();
}
int Statement::column_count() const { return sqlite3_column_count(statement_); }
std::string_view Statement::column_name(int column) const {
  return sqlite3_column_name(statement_, column);
}

Result<Database> Database::open(const std::filesystem::path& path, Mode mode) {
  // SQLite counts all memory under one mutex, on which threads with databases of their own contend:
  // a tenth of an import. Has no effect if SQLite was used before.
  [[maybe_unused]] static const int kUncounted = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  int flags = SQLITE_OPEN_NOMUTEX;
  switch (mode) {
    case Mode::kReadOnly:
      flags |= SQLITE_OPEN_READONLY;
      break;
    case Mode::kReadWrite:
      flags |= SQLITE_OPEN_READWRITE;
      break;
    case Mode::kCreate:
      flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
      break;
    case Mode::kForeign:
      flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
      break;
  }
  const std::string name = mode == Mode::kForeign ? immutable_uri(path) : path.string();
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &handle, flags, nullptr);
  if (code != SQLITE_OK) {
    const std::string why = handle ? sqlite3_errmsg(handle) : "out of memory";
    sqlite3_close(handle);
    return fail(code_of(code), fmt::format("{}: {}", path.string(), why),
                mode == Mode::kCreate ? "is the folder there, and may it be written?"
                                      : "is the path right?");
  }
  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
  if (mode == Mode::kForeign) distrust(handle);
  return Database(handle, path);
}

Database::Database(Database&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), path_(std::move(other.path_)) {}
Database& Database::operator=(Database&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(path_, other.path_);
  return *this;
}
// close_v2 waits for statements that are still open.
Database::~Database() { sqlite3_close_v2(handle_); }

Error Database::error(std::string_view doing) const {
  const int code = sqlite3_errcode(handle_);
  return Error{code_of(code),
               fmt::format("{}: {}: {}", path_.string(), doing, sqlite3_errmsg(handle_)),
               code_of(code) == Code::kNotATrace
                   ? "a dprof trace is one rank's file in a run folder: RUN/rank-00000.dprof"
                   : "the file may be damaged; `dprof recover RUN` may help"};
}

Status Database::execute(const std::string& sql) {
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return fail(error("executing"));
  return Done{};
}

Result<Statement> Database::prepare(std::string_view sql) const {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(handle_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr) !=
      SQLITE_OK) {
    return fail(error("reading"));
  }
  return Statement(statement);
}

Result<int64_t> Database::query_int(std::string_view sql) const {
  Result<Statement> statement = prepare(sql);
  if (!statement.ok()) return fail(statement.error());
  const Result<bool> row = statement->step();
  if (!row.ok()) return fail(row.error());
  if (!*row) return fail(Code::kDamaged, fmt::format("{}: no row from: {}", path_.string(), sql));
  return statement->integer(0);
}

Result<std::string> Database::query_text(std::string_view sql) const {
  Result<Statement> statement = prepare(sql);
  if (!statement.ok()) return fail(statement.error());
  const Result<bool> row = statement->step();
  if (!row.ok()) return fail(row.error());
  if (!*row) return fail(Code::kDamaged, fmt::format("{}: no row from: {}", path_.string(), sql));
  return std::string(statement->text(0));
}

bool Database::is_busy() const { return sqlite3_errcode(handle_) == SQLITE_BUSY; }

bool Database::read_file(int64_t offset, std::span<unsigned char> into) const {
  sqlite3_file* file = nullptr;
  if (sqlite3_file_control(handle_, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK ||
      file == nullptr || file->pMethods == nullptr)
    return false;
  return file->pMethods->xRead(file, into.data(), static_cast<int>(into.size()), offset) ==
         SQLITE_OK;
}

}  // namespace dprof::schema
