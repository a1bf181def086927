// SPDX-License-Identifier: Apache-2.0
#include "analyzer/sql/sql_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "schema/read_query.h"
#include "schema/tables.h"

namespace dprof::analyzer {
namespace {

using schema::QueryColumn;
using schema::ReadQuery;

constexpr std::array<std::string_view, 3> kShown = {"host_range", "gpu_activity", "collective"};

// The table whose row ids a trace column holds, if the timeline shows its rows.
std::string rows_of(const QueryColumn& column) {
  const auto shown = [](std::string_view table) {
    return std::ranges::find(kShown, table) != kShown.end() ? std::string(table) : std::string();
  };
  if (column.table.empty()) return {};
  for (const schema::Table& table : schema::kTables) {
    if (column.table != table.name && column.table != table.rows_in) continue;
    if (column.origin == table.key) return shown(table.name);
    for (const schema::Column& known : table.columns) {
      if (known.name == column.origin) return shown(known.refers);
    }
  }
  return {};
}

// Rows of a UNION come from several tables, of which SQLite names only the first.
bool has_union(std::string_view text) {
  constexpr std::string_view kWord = "union";
  const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == b; };
  return std::search(text.begin(), text.end(), kWord.begin(), kWord.end(), same) != text.end();
}

std::vector<SqlColumn> columns_of(const ReadQuery& query, std::string_view text) {
  std::vector<SqlColumn> columns = {{"rank", {}}};
  for (QueryColumn& column : query.columns()) {
    std::string table = has_union(text) ? std::string() : rows_of(column);
    columns.push_back({std::move(column.name), std::move(table)});
  }
  return columns;
}

bool same_names(const std::vector<SqlColumn>& a, const std::vector<SqlColumn>& b) {
  return std::ranges::equal(a, b, {}, &SqlColumn::name, &SqlColumn::name);
}

size_t bytes_of(const SqlValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  return sizeof(SqlValue) + (text == nullptr ? 0 : text->capacity());
}

class Asking {
 public:
  Asking(std::string_view text, const SqlLimits& limits, const std::function<bool()>& is_unwanted)
      : text_(text), limits_(limits), is_unwanted_(is_unwanted) {}

  void ask(const TraceFile& trace) {
    Result<ReadQuery> query = ReadQuery::open(trace.path, is_unwanted_);
    if (!query.ok()) {
      leave_out(trace.rank, {query.error(), std::nullopt});
      return;
    }
    if (const Status prepared = query->prepare(text_); !prepared.ok()) {
      leave_out(trace.rank, {prepared.error(), query->error_offset()});
      return;
    }
    std::vector<SqlColumn> columns = columns_of(*query, text_);
    if (result_.columns.empty()) result_.columns = columns;
    if (!same_names(columns, result_.columns)) {
      leave_out(trace.rank, {{Code::kUsage, "its table has other columns", {}}, std::nullopt});
      return;
    }
    if (const Status read = read_rows(*query, trace.rank); !read.ok()) {
      leave_out(trace.rank, {read.error(), std::nullopt});
      return;
    }
    result_.ranks.push_back(trace.rank);
  }

  void not_reached(int rank) {
    result_.left_out.push_back({rank, "not reached: there are enough rows without it"});
  }

  [[nodiscard]] bool is_full() const { return result_.more; }

  SqlAnswer answer() && {
    if (result_.ranks.empty() && result_.rows.empty() && first_error_) return *first_error_;
    return std::move(result_);
  }

 private:
  void leave_out(int rank, SqlError error) {
    result_.left_out.push_back({rank, error.error.what});
    // Prefer an error in the statement, which the user can fix.
    const bool about_text = error.error.code == Code::kUsage;
    if (!first_error_ || (about_text && first_error_->error.code != Code::kUsage))
      first_error_ = std::move(error);
  }

  Status read_rows(ReadQuery& query, int rank) {
    while (true) {
      const Result<bool> more = query.step();
      if (!more.ok()) return fail(more.error());
      if (!*more) return Done{};
      if (result_.rows.size() >= limits_.rows || bytes_ >= limits_.bytes) {
        result_.more = true;
        return Done{};
      }
      std::vector<SqlValue> row = {int64_t{rank}};
      row.reserve(result_.columns.size());
      for (size_t c = 1; c < result_.columns.size(); ++c) {
        row.push_back(query.value(static_cast<int>(c - 1)));
        bytes_ += bytes_of(row.back());
      }
      result_.rows.push_back(std::move(row));
    }
  }

  std::string_view text_;
  const SqlLimits& limits_;
  const std::function<bool()>& is_unwanted_;
  SqlResult result_;
  std::optional<SqlError> first_error_;
  size_t bytes_ = 0;
};

}  // namespace

int rank_of(const std::vector<SqlValue>& row) {
  return static_cast<int>(std::get<int64_t>(row.front()));
}

SqlAnswer run_sql(const std::vector<TraceFile>& traces, std::string_view text,
                  const SqlLimits& limits, const std::function<bool()>& is_unwanted,
                  const Progress& progress) {
  if (traces.empty())
    return SqlError{{Code::kUsage, "there is no rank to ask", "choose ranks of this run"}, {}};
  Asking asking(text, limits, is_unwanted);
  size_t done = 0;
  for (const TraceFile& trace : traces) {
    if (is_unwanted && is_unwanted()) break;
    const double share = static_cast<double>(done++) / static_cast<double>(traces.size());
    if (progress && !progress(fmt::format("asking rank {}", trace.rank), share)) break;
    if (asking.is_full()) {
      asking.not_reached(trace.rank);
    } else {
      asking.ask(trace);
    }
  }
  return std::move(asking).answer();
}

}  // namespace dprof::analyzer
