// SPDX-License-Identifier: Apache-2.0
#include "schema/page_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace dprof::schema {
namespace {

constexpr size_t kFileHeaderBytes = 100;
constexpr size_t kMostLevels = 20;  // as in SQLite
constexpr unsigned char kInteriorTable = 5;
constexpr unsigned char kLeafTable = 13;
constexpr unsigned char kRollbackJournal = 1;
constexpr size_t kLeastOutsideRecord = 35;  // of a page once filled with a record
constexpr uint64_t kFirstBytes = 12;        // serial types from here on are blobs and texts

uint64_t big_endian(const unsigned char* at, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value = value << 8U | at[i];
  return value;
}

// Decodes a number of serial type 0 to 9 from 8 bytes, beginning at its first one, without a
// branch: (bytes >> shift) & mask | plus. Types 8 and 9 are the numbers 0 and 1 and take no bytes.
struct Decoding {
  size_t bytes;
  int shift;
  int64_t mask;
  int64_t plus;
};
constexpr uint64_t kReal = 7;
constexpr std::array<Decoding, 10> kDecodings = {{{0, 63, 0, 0},
                                                  {1, 56, -1, 0},
                                                  {2, 48, -1, 0},
                                                  {3, 40, -1, 0},
                                                  {4, 32, -1, 0},
                                                  {6, 16, -1, 0},
                                                  {8, 0, -1, 0},
                                                  {8, 0, 0, 0},
                                                  {0, 63, 0, 0},
                                                  {0, 63, 0, 1}}};
constexpr size_t kMostNumberBytes = 8;

int64_t eight_bytes(const unsigned char* at) {
  uint64_t value = 0;
  std::memcpy(&value, at, sizeof value);
  if constexpr (std::endian::native == std::endian::little) value = __builtin_bswap64(value);
  return static_cast<int64_t>(value);
}

bool read_long_varint(const unsigned char*& at, const unsigned char* end, uint64_t& value) {
  value = 0;
  for (int i = 0; i < 9 && at < end; ++i) {
    const unsigned char byte = *at++;
    if (i == 8) {
      value = value << 8U | byte;
      return true;
    }
    value = value << 7U | (byte & 0x7fU);
    if (byte < 0x80) return true;
  }
  return false;
}

// Reads the number at `at` and moves past it; false if it would not end before `end`.
inline bool read_varint(const unsigned char*& at, const unsigned char* end, uint64_t& value) {
  if (at == end || *at >= 0x80) return read_long_varint(at, end, value);
  value = *at++;
  return true;
}

bool is_integer(Type type) { return type == Type::kInteger || type == Type::kEnum; }

}  // namespace

std::optional<PageScan> PageScan::start(const Database& database, const Table& table,
                                        int64_t version) {
  Result<Statement> root = database.prepare(fmt::format(
      "SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = '{}'", table.name));
  if (!root.ok()) return std::nullopt;
  const Result<bool> there = root->step();  // begins the read transaction
  if (!there.ok() || !*there) return std::nullopt;
  const int64_t root_page = root->integer(0);
  std::optional<std::vector<Field>> fields = stored_fields(database, table, version);
  if (!fields || root_page > UINT32_MAX) return std::nullopt;
  PageScan scan(database, *std::move(root), *std::move(fields));
  if (!scan.read_header() || !scan.enter(static_cast<uint32_t>(root_page))) return std::nullopt;
  return scan;
}

// The contents of a row in the file, by position; nullopt if that cannot be determined.
std::optional<std::vector<PageScan::Field>> PageScan::stored_fields(const Database& database,
                                                                    const Table& table,
                                                                    int64_t version) {
  Result<Statement> stored = database.prepare(fmt::format(
      "SELECT name, type, pk, hidden FROM pragma_table_xinfo('{}') ORDER BY cid", table.name));
  if (!stored.ok()) return std::nullopt;
  std::vector<Field> fields;
  auto missing = std::ranges::count_if(
      table.columns, [&](const Column& column) { return column.since <= version; });
  while (true) {
    const Result<bool> more = stored->step();
    if (!more.ok()) return std::nullopt;
    if (!*more) break;
    const auto column = std::ranges::find(table.columns, stored->text(0), &Column::name);
    const bool declared = column != table.columns.end();
    const bool is_key = stored->integer(2) != 0;
    const bool generated = stored->integer(3) != 0;
    // Only an INTEGER PRIMARY KEY is the row's number.
    const bool is_rowid = is_key && declared && column->name == table.key;
    if (generated || (is_key && (!is_rowid || stored->text(1) != "INTEGER"))) return std::nullopt;
    Field field;
    if (declared && column->since <= version) {
      field.column = static_cast<uint8_t>(column - table.columns.begin());
      field.as = is_rowid                   ? Field::As::kRowid
                 : is_integer(column->type) ? Field::As::kInteger
                                            : Field::As::kBytes;
      --missing;
    }
    fields.push_back(field);
  }
  const bool fits = table.columns.size() <= kMostColumns && fields.size() <= kMostColumns;
  return missing == 0 && fits ? std::optional(std::move(fields)) : std::nullopt;
}

bool PageScan::read_header() {
  std::array<unsigned char, kFileHeaderBytes> bytes{};
  if (!database_->read_file(0, bytes)) return false;
  const bool utf8 = big_endian(&bytes[56], 4) == 1;
  if (bytes[18] != kRollbackJournal || bytes[19] != kRollbackJournal || !utf8) return false;
  const uint64_t said = big_endian(&bytes[16], 2);
  page_bytes_ = static_cast<int64_t>(said == 1 ? 65536 : said);
  const bool power_of_two = (page_bytes_ & (page_bytes_ - 1)) == 0;
  if (page_bytes_ < 512 || !power_of_two || page_bytes_ - bytes[20] < 480) return false;
  usable_ = static_cast<size_t>(page_bytes_) - bytes[20];
  const Result<int64_t> pages = database_->query_int("PRAGMA page_count");
  pages_left_ = pages.ok() ? *pages : 0;
  return true;
}

bool PageScan::stop() {
  depth_ = 0;
  return false;
}

bool PageScan::next() {
  while (depth_ > 0) {
    Page& page = pages_[depth_ - 1];
    if (page.cell < page.cells) {
      if (page.leaf) return read_row(page) || stop();
      if (!enter_child(page)) return stop();
    } else if (--depth_ == 0) {
      complete_ = true;
    }
  }
  return false;
}

// Reads page `number` as the next level; false, with nothing entered, if it is not a page of a
// table.
bool PageScan::enter(uint32_t number) {
  if (depth_ >= kMostLevels || number < 2 || --pages_left_ < 0) return false;
  if (depth_ == pages_.size()) pages_.emplace_back();
  Page& page = pages_[depth_];
  const auto size = static_cast<size_t>(page_bytes_);
  page.bytes.resize(size + (kMostColumns + 1) * kMostNumberBytes);  // read_record() reads beyond
  const std::span<unsigned char> whole = std::span(page.bytes).first(size);
  if (!database_->read_file((int64_t{number} - 1) * page_bytes_, whole)) return false;
  const unsigned char kind = page.bytes[0];
  if (kind != kLeafTable && kind != kInteriorTable) return false;
  page.leaf = kind == kLeafTable;
  page.pointers = page.leaf ? 8 : 12;
  page.cell = 0;
  page.cells = big_endian(&page.bytes[3], 2);
  constexpr size_t kLeastCellBytes = 6;  // incl. its pointer; an empty table is an empty root
  if (page.cells > usable_ / kLeastCellBytes || (page.cells == 0 && depth_ > 0)) return false;
  if (page.pointers + 2 * page.cells > usable_) return false;
  if (!page.leaf) ++page.cells;  // the right-most child
  ++depth_;
  return true;
}

bool PageScan::enter_child(Page& page) {
  const size_t number = page.cell++;
  if (number + 1 == page.cells) return enter(static_cast<uint32_t>(big_endian(&page.bytes[8], 4)));
  const size_t at = big_endian(&page.bytes[page.pointers + 2 * number], 2);
  if (at < page.pointers || at + 4 > usable_) return false;
  return enter(static_cast<uint32_t>(big_endian(&page.bytes[at], 4)));
}

bool PageScan::read_row(Page& page) {
  const size_t offset = big_endian(&page.bytes[page.pointers + 2 * page.cell], 2);
  if (offset < page.pointers + 2 * page.cells || offset >= usable_) return false;
  const unsigned char* at = &page.bytes[offset];
  const unsigned char* end = page.bytes.data() + usable_;
  uint64_t size = 0;
  uint64_t id = 0;
  if (!read_varint(at, end, size) || !read_varint(at, end, id)) return false;
  if (size > usable_ - kLeastOutsideRecord || size > static_cast<uint64_t>(end - at)) return false;
  const auto rowid = static_cast<int64_t>(id);
  // Also stops at a damaged tree that contains a cycle.
  if (rowid_ && rowid <= *rowid_) return false;
  if (!read_record(at, size, rowid)) return false;
  rowid_ = rowid;
  ++seen_;
  ++page.cell;
  return true;
}

bool PageScan::read_record(const unsigned char* record, size_t size, int64_t rowid) {
  const unsigned char* type_at = record;
  const unsigned char* const end = record + size;
  uint64_t header = 0;
  if (!read_varint(type_at, end, header) || header > size) return false;
  const unsigned char* const types_end = record + header;
  const unsigned char* at = types_end;
  for (const Field& field : fields_) {
    uint64_t type = 0;
    if (!read_varint(type_at, types_end, type)) return false;
    Value& value = values_[field.column];
    if (type < kDecodings.size() && field.as == Field::As::kInteger) {
      // Bytes beyond the record's end are within the page's buffer, and are refused below.
      const Decoding& decoding = kDecodings[type];
      value.integer = (eight_bytes(at) >> decoding.shift & decoding.mask) | decoding.plus;
      value.is_null = type == 0;
      at += decoding.bytes;
      if (type == kReal) return false;
    } else if (!read_other(field, type, at, end, rowid)) {
      return false;
    }
  }
  return at == end && type_at == types_end;
}

// Every type that is not a number.
bool PageScan::read_other(const Field& field, uint64_t type, const unsigned char*& at,
                          const unsigned char* end, int64_t rowid) {
  if (type == 10 || type == 11 || at > end) return false;
  const uint64_t bytes =
      type < kDecodings.size() ? kDecodings[type].bytes : (type - kFirstBytes) / 2;
  if (bytes > static_cast<uint64_t>(end - at)) return false;
  Value& value = values_[field.column];
  switch (field.as) {
    case Field::As::kInteger:
      return false;
    case Field::As::kRowid:
      if (type != 0) return false;
      value.integer = rowid;
      value.is_null = false;
      break;
    case Field::As::kBytes:
      if (type != 0 && type < kFirstBytes) return false;
      value.is_null = type == 0;
      value.text = {reinterpret_cast<const char*>(at), bytes};
      break;
    case Field::As::kUnused:
      break;
  }
  at += bytes;
  return true;
}

}  // namespace dprof::schema
