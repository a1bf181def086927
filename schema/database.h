// SPDX-License-Identifier: Apache-2.0
// A thin SQLite wrapper: only database.cpp and read_query.cpp include sqlite3.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace dprof::schema {

// The longest that a reader of a trace that is being written waits for a commit.
inline constexpr int kBusyTimeoutMs = 2000;

// A prepared statement. Parameters are numbered from 1, columns from 0, as in SQLite. Bound texts
// must stay valid until the statement is stepped or reset.
class Statement {
 public:
  Statement(Statement&&) noexcept;
  Statement& operator=(Statement&&) noexcept;
  ~Statement();

  void bind(int parameter, int64_t value);
  void bind(int parameter, std::string_view text);
  void bind_blob(int parameter, std::string_view bytes);
  void bind_null(int parameter);

  // True: a row is available. False: done.
  Result<bool> step();
  void reset();

  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] int64_t integer(int column) const;
  [[nodiscard]] std::optional<int64_t> optional_integer(int column) const;  // nullopt = NULL
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] std::string_view text(
      int column) const;  // valid until the next step; also for blobs
  [[nodiscard]] int column_count() const;
  [[nodiscard]] std::string_view column_name(int column) const;

 private:
  friend class Database;
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  sqlite3_stmt* statement_;
};

// One connection. Threading: one thread at a time.
class Database {
 public:
  // kForeign: an untrusted file. It is read in place, without lock, log or journal; only tables can
  // be queried, and nothing that its schema declares is run: no view, trigger, function or
  // extension.
  enum class Mode { kReadOnly, kReadWrite, kCreate, kForeign };

  static Result<Database> open(const std::filesystem::path& path, Mode mode);
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  Status execute(const std::string& sql);
  Result<Statement> prepare(std::string_view sql) const;
  Result<int64_t> query_int(std::string_view sql) const;
  Result<std::string> query_text(std::string_view sql) const;
  // True if the last call failed because another connection holds a lock.
  [[nodiscard]] bool is_busy() const;
  // Bytes of the file itself, bypassing all locks and logs: only useful in a read transaction.
  // False if the file does not have them. Does not reopen the file, which would release SQLite's
  // locks.
  bool read_file(int64_t offset, std::span<unsigned char> into) const;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  Database(sqlite3* handle, std::filesystem::path path) : handle_(handle), path_(std::move(path)) {}
  Error error(std::string_view doing) const;

  sqlite3* handle_;
  std::filesystem::path path_;
};

}  // namespace dprof::schema
