// SPDX-License-Identifier: Apache-2.0
// A thin wrapper of SQLite: nothing but database.cpp and read_query.cpp includes sqlite3.h.
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

// So long a reader of a trace that is being written waits for a commit, at most.
inline constexpr int kBusyTimeoutMs = 2000;

// A prepared statement. Parameters are numbered from 1, columns from 0, as in SQLite. Bound texts
// must live until the statement was stepped or reset.
class Statement {
 public:
  Statement(Statement&&) noexcept;
  Statement& operator=(Statement&&) noexcept;
  ~Statement();

  void bind(int parameter, int64_t value);
  void bind(int parameter, std::string_view text);
  void bind_blob(int parameter, std::string_view bytes);
  void bind_null(int parameter);

  // True: a row is there. False: done.
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
  // kForeign: somebody else's file, as hostile as any. It is read as it lies there, without lock,
  // log or journal; nothing but tables can be asked, and nothing that its schema declares is run:
  // no view, trigger, function or extension.
  enum class Mode { kReadOnly, kReadWrite, kCreate, kForeign };

  static Result<Database> open(const std::filesystem::path& path, Mode mode);
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  Status execute(const std::string& sql);
  Result<Statement> prepare(std::string_view sql) const;
  Result<int64_t> query_int(std::string_view sql) const;
  Result<std::string> query_text(std::string_view sql) const;
  // Whether the last call failed because of somebody else's lock.
  [[nodiscard]] bool is_busy() const;
  // Bytes of the file itself, beside all locks and logs: only of use in a read transaction. False
  // where they are not there. The file is not opened again, which would give up SQLite's locks.
  bool read_file(int64_t offset, std::span<unsigned char> into) const;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  Database(sqlite3* handle, std::filesystem::path path) : handle_(handle), path_(std::move(path)) {}
  Error error(std::string_view doing) const;

  sqlite3* handle_;
  std::filesystem::path path_;
};

}  // namespace dprof::schema
