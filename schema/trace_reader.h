// SPDX-License-Identifier: Apache-2.0
// Reads one rank's trace, also while it is being written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/communicator_members.h"
#include "schema/database.h"
#include "schema/ddl.h"
#include "schema/generated/rows.h"
#include "schema/packed_collective.h"
#include "schema/packed_gpu_activity.h"
#include "schema/page_scan.h"
#include "schema/traits.h"

namespace dprof::schema {

// Invariant  the file is a dprof trace of a version that this dprof understands; every declared
//            column is there.
// Threading  one thread at a time; open one reader per thread.
// Errors     kNotFound, kNotATrace (empty, text, foreign application_id), kTraceTooNew, kDamaged
//            (truncated, missing table or column), each with file and hint.
class TraceReader {
 public:
  static Result<TraceReader> open(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const { return database_.path(); }
  // As it was when the trace was opened; nullopt = unknown.
  [[nodiscard]] std::optional<std::string> meta(std::string_view key) const;
  [[nodiscard]] std::optional<int64_t> meta_int(std::string_view key) const;

  // Texts by id; index 0 is "". Read once and cached.
  [[nodiscard]] const std::vector<std::string>& strings() const { return strings_; }
  [[nodiscard]] const std::string& string(int64_t id) const;  // "" for an unknown id

  // Visits the rows of one table in rowid order, in constant memory. `where` is the SQL after
  // WHERE, empty for all rows. All rows of a finished trace are read ten times as fast, so a
  // `where` only pays if it leaves few rows of many.
  template <typename Row, typename Visit>
  Status for_each(Visit&& visit, std::string_view where = {}) const;

  template <typename Row>
  Result<std::vector<Row>> read_all(std::string_view where = {}) const;

  // Number of rows of one table, by COUNT(*).
  Result<int64_t> count(std::string_view table) const;

 private:
  TraceReader(Database database, int64_t version)
      : database_(std::move(database)), version_(version) {}
  void read_meta();
  Result<Statement> select(const Table& table, std::string_view where, int64_t skipped) const;
  template <typename Visit>
  Status for_each_communicator_member(Visit&& visit) const;
  [[nodiscard]] std::optional<PageScan> scan(const Table& table) const;
  template <typename Packed, typename TraitsRow, typename Row, typename Visit>
  Status for_each_packed(Visit&& visit) const;
  [[nodiscard]] Error damaged(const Table& table, std::string_view why) const;

  Database database_;
  int64_t version_;  // schema version of the file
  std::vector<std::string> strings_;
  std::map<std::string, std::string, std::less<>> meta_;
};

// --- implementation ---

namespace internal {

// A Source is a Statement or a PageScan.
template <typename Source>
void read_field(const Source& s, int column, int64_t& field) {
  field = s.integer(column);
}
template <typename Source>
void read_field(const Source& s, int column, std::string& field) {
  field = s.text(column);
}
template <typename Source>
void read_field(const Source& s, int column, std::optional<int64_t>& field) {
  field = s.optional_integer(column);
}
template <typename Source>
void read_field(const Source& s, int column, std::optional<std::string>& field) {
  field = s.is_null(column) ? std::nullopt : std::optional(std::string(s.text(column)));
}
template <typename Source, typename Enum>
requires std::is_enum_v<Enum>
void read_field(const Source& s, int column, Enum& field) {
  field = static_cast<Enum>(s.integer(column));
}
template <typename Source, typename Enum>
requires std::is_enum_v<Enum>
void read_field(const Source& s, int column, std::optional<Enum>& field) {
  const std::optional<int64_t> value = s.optional_integer(column);
  field = value ? std::optional(static_cast<Enum>(*value)) : std::nullopt;
}

template <typename Source, typename Row>
void read_row(const Source& source, Row& row) {
  int column = 0;
  for_each_field(row, [&](auto& field) { read_field(source, column++, field); });
}

}  // namespace internal

template <typename Row, typename Visit>
Status TraceReader::for_each(Visit&& visit, std::string_view where) const {
  if constexpr (std::is_same_v<Row, CommunicatorMemberRow>) {
    if (where.empty() && version_ >= CommunicatorMembersRow::kTable.since)
      return for_each_communicator_member(visit);
  }
  if constexpr (std::is_same_v<Row, GpuActivityRow>) {
    if (where.empty() && is_view(Row::kTable, version_))
      return for_each_packed<PackedGpuActivityRow, GpuActivityTraitsRow, Row>(visit);
  }
  if constexpr (std::is_same_v<Row, CollectiveRow>) {
    if (where.empty() && is_view(Row::kTable, version_))
      return for_each_packed<PackedCollectiveRow, CollectiveTraitsRow, Row>(visit);
  }
  Row row;
  std::optional<PageScan> pages = where.empty() ? scan(Row::kTable) : std::nullopt;
  while (pages && pages->next()) {
    internal::read_row(*pages, row);
    visit(static_cast<const Row&>(row));
  }
  if (pages && pages->complete()) return Done{};
  Result<Statement> statement = select(Row::kTable, where, pages ? pages->seen() : 0);
  if (!statement.ok()) return fail(statement.error());
  while (true) {
    const Result<bool> more = statement->step();
    if (!more.ok()) return fail(more.error());
    if (!*more) return Done{};
    internal::read_row(*statement, row);
    visit(static_cast<const Row&>(row));
  }
}

// Not by its view: a query that makes a row from the one before is slow.
template <typename Visit>
Status TraceReader::for_each_communicator_member(Visit&& visit) const {
  bool damaged = false;
  Status read = for_each<CommunicatorMembersRow>([&](const CommunicatorMembersRow& row) {
    if (!damaged) damaged = !for_each_member(row, visit);
  });
  if (damaged) {
    return fail(this->damaged(CommunicatorMembersRow::kTable, "no communicator has such members"));
  }
  return read;
}

// Not by their view: a join takes ten times as long.
template <typename Packed, typename TraitsRow, typename Row, typename Visit>
Status TraceReader::for_each_packed(Visit&& visit) const {
  std::optional<TraitsTable<TraitsRow>> traits;
  Status traits_read = Done{};
  bool good = true;
  Row row;
  Status read = for_each<Packed>([&](const Packed& packed) {
    if (!traits) {  // within the same snapshot of a file that is being written
      traits.emplace();
      traits_read = for_each<TraitsRow>([&](const TraitsRow& one) { traits->add(one); });
    }
    const TraitsRow* of_row = traits->find(packed.traits_id);
    if (of_row != nullptr && unpack(packed, *of_row, row)) {
      visit(static_cast<const Row&>(row));
    } else {
      good = false;
    }
  });
  if (!read.ok()) return read;
  if (!traits_read.ok()) return traits_read;
  if (!good) return fail(damaged(Packed::kTable, "rows whose traits are missing or damaged"));
  return read;
}

template <typename Row>
Result<std::vector<Row>> TraceReader::read_all(std::string_view where) const {
  std::vector<Row> rows;
  const Status status = for_each<Row>([&](const Row& row) { rows.push_back(row); }, where);
  if (!status.ok()) return fail(status.error());
  return rows;
}

}  // namespace dprof::schema
