// SPDX-License-Identifier: Apache-2.0
#include "schema/trace_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "schema/communicator_members.h"
#include "schema/database.h"
#include "schema/ddl.h"
#include "schema/packed_collective.h"
#include "schema/traits.h"

namespace dprof::schema {
namespace {

// 16 rows per INSERT are a third faster than one; more gain nothing (measured with
// bench/recorder_rows.cpp).
constexpr int kRowsPerInsert = 16;

// WAL with synchronous=OFF survives the death of any process, but not of the machine; pages of 16
// KiB make inserts a quarter faster than 4 KiB. No secondary index: it would cost half the speed
// and 22 bytes a row. A log that a reader has made large shrinks once it is used up.
constexpr char kPageSize[] = "PRAGMA page_size = 16384;";
constexpr char kWriteAhead[] = "PRAGMA journal_mode = WAL;";
// A reader's lock would make a commit fail: readers are kept out.
constexpr char kRollback[] = "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE;";
constexpr char kNoJournal[] = "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = OFF;";
// Traces up to this size are packed when finished: an empty one has a page for each table, 475 kB,
// which 10,000 ranks multiply. With 1 KiB pages it takes 60 kB, and packing 5 ms.
constexpr int64_t kPackedBytes = 1 << 20;
constexpr int64_t kSmallPage = 1024;
constexpr char kSetUp[] =
    "PRAGMA synchronous = OFF;PRAGMA wal_autocheckpoint = 2000;PRAGMA journal_size_limit = 67108864;PRAGMA temp_store = MEMORY;";

void bind_field(Statement& s, int at, int64_t value) { s.bind(at, value); }
void bind_field(Statement& s, int at, const std::string& value) {
  s.bind(at, std::string_view(value));
}
void bind_field(Statement& s, int at, const std::optional<int64_t>& value) {
  value ? s.bind(at, *value) : s.bind_null(at);
}
void bind_field(Statement& s, int at, const std::optional<std::string>& value) {
  value ? s.bind(at, std::string_view(*value)) : s.bind_null(at);
}
template <typename Enum>
requires std::is_enum_v<Enum>
void bind_field(Statement& s, int at, Enum value) { s.bind(at, static_cast<int64_t>(value)); }
template <typename Enum>
requires std::is_enum_v<Enum>
void bind_field(Statement& s, int at, const std::optional<Enum>& value) {
  value ? s.bind(at, static_cast<int64_t>(*value)) : s.bind_null(at);
}

// Binds the columns that a file of this version has.
template <typename Row>
int bind_row(Statement& statement, int first, const Row& row, int64_t version) {
  int at = first;
  size_t column = 0;
  for_each_field(row, [&](const auto& field) {
    if (Row::kTable.columns[column].since > version) {
      ++column;
      return;
    }
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, std::optional<std::string>>) {
      if (field && Row::kTable.columns[column].type == Type::kBlob) {
        statement.bind_blob(at++, *field);
        ++column;
        return;
      }
    }
    bind_field(statement, at++, field);
    ++column;
  });
  return at;
}

std::string insert_sql(const Table& table, int rows, int64_t version) {
  std::string names;
  std::string one;
  for (const Column& column : table.columns) {
    if (column.since > version) continue;
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", column.name);
    one += one.empty() ? "(?" : ",?";
  }
  one += ")";
  std::string all = one;
  for (int i = 1; i < rows; ++i) all += "," + one;
  return fmt::format("INSERT INTO \"{}\" ({}) VALUES {}", table.name, names, all);
}

// Updates every column of the row whose key is the first parameter; parameters as in bind_row().
std::string update_sql(const Table& table, int64_t version) {
  std::string set;
  int at = 1;
  for (const Column& column : table.columns.subspan(1)) {
    if (column.since > version) continue;
    set += fmt::format("{}\"{}\" = ?{}", at == 1 ? "" : ", ", column.name, at + 1);
    ++at;
  }
  return fmt::format("UPDATE \"{}\" SET {} WHERE \"{}\" = ?1", table.name, set, table.key);
}

Status run_once(Statement& statement) {
  const Result<bool> stepped = statement.step();
  statement.reset();
  if (!stepped.ok()) return fail(stepped.error());
  return Done{};
}

// Gathers the rows of one table and inserts kRowsPerInsert of them at a time.
template <typename Row>
class Inserter {
 public:
  Status append(const Database& database, const Row& row, int64_t version) {
    pending_.push_back(row);
    if (pending_.size() < kRowsPerInsert) return Done{};
    return insert_pending(database, version);
  }

  Status insert_pending(const Database& database, int64_t version) {
    if (pending_.empty()) return Done{};
    const bool full = pending_.size() == kRowsPerInsert;
    std::optional<Statement>& statement = full ? many_ : one_;
    if (!statement) {
      Result<Statement> made =
          database.prepare(insert_sql(Row::kTable, full ? kRowsPerInsert : 1, version));
      if (!made.ok()) return fail(made.error());
      statement.emplace(*std::move(made));
    }
    Status status = Done{};
    int at = 1;
    for (const Row& row : pending_) {
      at = bind_row(*statement, at, row, version);
      if (full) continue;
      status = run_once(*statement);
      if (!status.ok()) break;
      at = 1;
    }
    if (full) status = run_once(*statement);
    pending_.clear();
    return status;
  }

 private:
  std::vector<Row> pending_;
  std::optional<Statement> many_, one_;
};

std::string small_pages() { return fmt::format("PRAGMA page_size = {};", kSmallPage); }

std::string settings_of(TraceWriter::Journal journal) {
  const char* const mode = journal == TraceWriter::Journal::kWriteAhead ? kWriteAhead
                           : journal == TraceWriter::Journal::kRollback ? kRollback
                                                                        : kNoJournal;
  return fmt::format("{}{}", mode, kSetUp);
}

Status refuse_existing(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return Done{};
  return fail(Code::kIo, fmt::format("{}: exists already", path.string()),
              "choose another folder, or use --overwrite");
}

// A new file with all tables, or no file.
Result<Database> make_file(const std::filesystem::path& path, const std::string& settings,
                           const std::string& page_size = kPageSize) {
  Result<Database> database = Database::open(path, Database::Mode::kCreate);
  if (!database.ok()) return database;
  // All tables or none: a process killed now leaves no partial schema.
  const std::string tables = fmt::format("BEGIN;\n{}COMMIT;\n", create_tables());
  for (const std::string& sql : {page_size + settings, tables}) {
    const Status done = database->execute(sql);
    if (done.ok()) continue;
    const Error& why = done.error();
    database = fail(why);  // closes it
    std::error_code ignored;
    for (const char* rest : {"", "-wal", "-shm", "-journal"}) {
      std::filesystem::remove(path.string() + rest, ignored);
    }
    break;
  }
  return database;
}

// What must survive a failed transaction.
struct Kept {
  struct Closing {
    int64_t range_id;
    int64_t duration_ns;
  };

  std::tuple<std::vector<StringRow>, std::vector<ThreadRow>, std::vector<DeviceRow>,
             std::vector<StreamRow>, std::vector<CommunicatorRow>,
             std::vector<CommunicatorMemberRow>, std::vector<CommunicatorMembersRow>,
             std::vector<CollectiveTraitsRow>, std::vector<GpuActivityTraitsRow>,
             std::vector<NvtxSchemaRow>, std::vector<CaptureRow>, std::vector<LossRow>,
             std::vector<DiagnosticRow>>
      rows;
  std::vector<Closing> closings;                 // of ranges already in the file
  std::vector<PackedCollectiveRow> collectives;  // changes of those already in the file
};

}  // namespace

struct TraceWriter::Impl {
  explicit Impl(Database opened, std::string settings = {})
      : path(opened.path()), settings(std::move(settings)), database(std::move(opened)) {}
  Impl(std::filesystem::path path, std::string settings, Error why)
      : path(std::move(path)), settings(std::move(settings)), failed(std::move(why)) {}

  std::filesystem::path path;
  std::string settings;  // of a writing connection
  std::optional<Database> database;
  bool is_made = database.has_value();  // the file and its tables exist
  std::optional<Error> failed;          // the first failure; nothing is written until resume()
  bool in_transaction = false;
  int64_t rows = 0;
  std::unordered_map<std::string, int64_t> string_ids;
  std::vector<StringRow> new_strings;
  std::map<std::string, std::string, std::less<>> changed_meta;
  Kept kept;  // since the last commit that succeeded
  int64_t last_range_id = 0, committed_range_id = 0;
  int64_t last_collective_id = 0, committed_collective_id = 0;
  std::optional<Statement> close_range, update_collective;
  TraitsIds<CollectiveTraitsRow> collective_traits{1};
  TraitsIds<GpuActivityTraitsRow> activity_traits{1};
  std::optional<CommunicatorMembersRow> members;  // the next member may belong to them
  int64_t version = kUserVersion;                 // schema version of the file
  using Inserters =
      std::tuple<Inserter<StringRow>, Inserter<ThreadRow>, Inserter<DeviceRow>, Inserter<StreamRow>,
                 Inserter<HostRangeRow>, Inserter<RangeDetailRow>, Inserter<NvtxSchemaRow>,
                 Inserter<GpuActivityRow>, Inserter<GpuDependencyRow>, Inserter<CommunicatorRow>,
                 Inserter<CommunicatorMemberRow>, Inserter<CommunicatorMembersRow>,
                 Inserter<PackedCollectiveRow>, Inserter<CollectiveTraitsRow>,
                 Inserter<PackedGpuActivityRow>, Inserter<GpuActivityTraitsRow>, Inserter<StepRow>,
                 Inserter<MemoryEventRow>, Inserter<MemorySampleRow>, Inserter<LoaderEventRow>,
                 Inserter<ClockSampleRow>, Inserter<ClockProbeRow>, Inserter<SystemSampleRow>,
                 Inserter<CaptureRow>, Inserter<KernelShapeRow>, Inserter<NcclEventRow>,
                 Inserter<StackFrameRow>, Inserter<CallStackRow>, Inserter<LossRow>,
                 Inserter<DiagnosticRow>>;
  Inserters inserters;

  // Keeps the first failure and passes it on.
  Status note(Status status) {
    if (!status.ok() && !failed) failed = status.error();
    return status;
  }

  Status begin() {
    if (failed) return fail(*failed);
    if (in_transaction) return Done{};
    if (!database) {  // closed by rest()
      if (const Status opened = note(open_again()); !opened.ok()) return fail(opened.error());
    }
    in_transaction = true;
    return note(database->execute("BEGIN"));
  }

  template <typename Row>
  void keep(const Row& row) {
    if constexpr (kOutlivesFailure<Row>) std::get<std::vector<Row>>(kept.rows).push_back(row);
    if constexpr (std::is_same_v<Row, HostRangeRow>)
      last_range_id = std::max(last_range_id, row.id);
    if constexpr (std::is_same_v<Row, PackedCollectiveRow>) {
      last_collective_id = std::max(last_collective_id, row.id);
    }
  }

  template <typename Row>
  Status append(const Row& row) {
    keep(row);
    if (const Status begun = begin(); !begun.ok()) return fail(begun.error());
    return note(std::get<Inserter<Row>>(inserters).append(*database, row, version));
  }

  // The row as stored; its traits are written first if they are new. If that fails, so does the
  // operation on the row.
  template <typename Packed, typename Ids>
  auto with_traits(Packed packed, Ids& ids) {
    const auto [id, is_new] = ids.id_of(packed.traits);
    packed.row.traits_id = packed.traits.id = id;
    if (is_new) static_cast<void>(append(packed.traits).ok());
    return packed.row;
  }

  PackedCollectiveRow packed(const CollectiveRow& row) {
    return with_traits(pack(row, version), collective_traits);
  }

  Status add_activity(const ShapedActivity& shaped) {
    if (version >= PackedGpuActivityRow::kTable.since)
      return append(with_traits(pack(shaped), activity_traits));
    Status written = append(shaped.activity);
    if (!written.ok() || !shaped.shape || KernelShapeRow::kTable.since > version) return written;
    KernelShapeRow shape = *shaped.shape;
    shape.activity_id = shaped.activity.id;
    return append(shape);
  }

  // Of a file that has rows already.
  template <typename TraitsRow>
  Status continue_ids(TraitsIds<TraitsRow>& ids) {
    if (version < TraitsRow::kTable.since) return Done{};
    const Result<int64_t> first = database->query_int(
        fmt::format("SELECT coalesce(max(id), 0) + 1 FROM {}", TraitsRow::kTable.name));
    if (!first.ok()) return fail(first.error());
    ids = TraitsIds<TraitsRow>(*first);
    return Done{};
  }

  template <typename TraitsRow>
  Status delete_unused(TraitsIds<TraitsRow>& ids, const Table& rows) {
    if (!ids.are_many()) return Done{};
    if (const Status done = insert_pending(); !done.ok()) return fail(done.error());
    ids.forget();
    return note(
        database->execute(fmt::format("DELETE FROM {} WHERE id NOT IN (SELECT traits_id FROM {})",
                                      TraitsRow::kTable.name, rows.name)));
  }

  Status add_member(const CommunicatorMemberRow& row) {
    if (version < CommunicatorMembersRow::kTable.since) return append(row);
    if (members && extend(*members, row)) return failed ? Status(fail(*failed)) : Done{};
    Status written = end_members();
    members = members_of(row);
    return written;
  }

  Status end_members() {
    if (!members) return Done{};
    const CommunicatorMembersRow row = *std::exchange(members, std::nullopt);
    return append(row);
  }

  // Inserts all gathered rows, in every table.
  Status insert_pending() {
    if (const Status done = end_members(); !done.ok()) return fail(done.error());
    for (const StringRow& row : new_strings) {
      if (const Status done = append(row); !done.ok()) return fail(done.error());
    }
    new_strings.clear();
    Status status = Done{};
    std::apply(
        [&](auto&... inserter) {
          const auto insert = [&](auto& one) {
            if (status.ok()) status = note(one.insert_pending(*database, version));
          };
          (insert(inserter), ...);
        },
        inserters);
    return status;
  }

  // Gathered rows must be in the file before an UPDATE can find them.
  template <typename Row>
  Status settle() {
    if (const Status begun = begin(); !begun.ok()) return fail(begun.error());
    return note(std::get<Inserter<Row>>(inserters).insert_pending(*database, version));
  }

  // INSERT OR REPLACE of one row of a small table.
  template <typename Row>
  Status replace(const Row& row) {
    keep(row);
    if (const Status settled = settle<Row>(); !settled.ok()) return fail(settled.error());
    return write_over(row);
  }

  template <typename Row>
  Status write_over(const Row& row) {
    std::string sql = insert_sql(Row::kTable, 1, version);
    sql.replace(0, std::string_view("INSERT").size(), "INSERT OR REPLACE");
    Result<Statement> statement = database->prepare(sql);
    if (!statement.ok()) return note(fail(statement.error()));
    bind_row(*statement, 1, row, version);
    return note(run_once(*statement));
  }

  Status write_meta() {
    if (changed_meta.empty()) return Done{};
    if (const Status begun = begin(); !begun.ok()) return fail(begun.error());
    Result<Statement> statement =
        database->prepare("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)");
    if (!statement.ok()) return note(fail(statement.error()));
    for (const auto& [key, value] : changed_meta) {
      statement->bind(1, std::string_view(key));
      statement->bind(2, std::string_view(value));
      if (const Status done = note(run_once(*statement)); !done.ok()) return fail(done.error());
    }
    return Done{};
  }

  // Prepares `statement` once.
  Status ready(std::optional<Statement>& statement, std::string_view sql) {
    if (statement) return Done{};
    Result<Statement> made = database->prepare(sql);
    if (!made.ok()) return note(fail(made.error()));
    statement.emplace(*std::move(made));
    return Done{};
  }

  Status write_closing(const Kept::Closing& closing) {
    constexpr std::string_view kSql = "UPDATE host_range SET duration_ns = ? WHERE id = ?";
    if (const Status done = ready(close_range, kSql); !done.ok()) return fail(done.error());
    close_range->bind(1, closing.duration_ns);
    close_range->bind(2, closing.range_id);
    return note(run_once(*close_range));
  }

  Status write_change(const PackedCollectiveRow& row) {
    if (const Status done =
            ready(update_collective, update_sql(PackedCollectiveRow::kTable, version));
        !done.ok()) {
      return fail(done.error());
    }
    bind_row(*update_collective, 1, row, version);
    return note(run_once(*update_collective));
  }

  Status commit() {
    if (!database) {
      if (const Status begun = begin(); !begun.ok()) return fail(begun.error());
    }
    if (failed) return fail(*failed);
    if (const Status done = insert_pending(); !done.ok()) return fail(done.error());
    if (const Status done = write_meta(); !done.ok()) return fail(done.error());
    if (in_transaction) {
      in_transaction = false;
      if (const Status done = note(database->execute("COMMIT")); !done.ok()) {
        return fail(done.error());
      }
    }
    kept = {};
    changed_meta.clear();
    committed_range_id = last_range_id;
    committed_collective_id = last_collective_id;
    return Done{};
  }

  // Closing the connection discards its transaction.
  void close() {
    inserters = Inserters();
    close_range.reset();
    update_collective.reset();
    in_transaction = false;
    database.reset();
  }

  Status open_again() {
    close();  // it may hold a lock
    Result<Database> opened =
        is_made ? Database::open(path, Database::Mode::kReadWrite) : make_file(path, settings);
    if (!opened.ok()) return fail(opened.error());
    database.emplace(*std::move(opened));
    return std::exchange(is_made, true) ? database->execute(settings) : Done{};
  }

  Status write_kept() {
    if (const Status begun = begin(); !begun.ok()) return fail(begun.error());
    Status status = Done{};
    std::apply(
        [&](const auto&... tables) {
          const auto write = [&](const auto& rows_of_table) {
            for (const auto& row : rows_of_table) {
              if (status.ok()) status = write_over(row);
            }
          };
          (write(tables), ...);
        },
        kept.rows);
    for (const Kept::Closing& closing : kept.closings) {
      if (status.ok()) status = write_closing(closing);
    }
    for (const PackedCollectiveRow& row : kept.collectives) {
      if (status.ok()) status = write_change(row);
    }
    return status;
  }
};

TraceWriter::TraceWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TraceWriter::~TraceWriter() = default;

Result<std::unique_ptr<TraceWriter>> TraceWriter::create(const std::filesystem::path& path,
                                                         Journal journal, Size size) {
  if (const Status free = refuse_existing(path); !free.ok()) return fail(free.error());
  const std::string settings = settings_of(journal);
  Result<Database> database =
      make_file(path, settings, size == Size::kSmall ? small_pages() : kPageSize);
  if (!database.ok()) return fail(database.error());
  return adopt(*std::move(database), settings);
}

Result<std::unique_ptr<TraceWriter>> TraceWriter::create_when_possible(
    const std::filesystem::path& path, Journal journal) {
  if (const Status free = refuse_existing(path); !free.ok()) return fail(free.error());
  std::string settings = settings_of(journal);
  Result<Database> database = make_file(path, settings);
  if (database.ok()) return adopt(*std::move(database), std::move(settings));
  return started(std::make_unique<Impl>(path, std::move(settings), database.error()));
}

Result<std::unique_ptr<TraceWriter>> TraceWriter::reopen(const std::filesystem::path& path,
                                                         std::optional<Journal> journal) {
  Result<Database> database = Database::open(path, Database::Mode::kReadWrite);
  if (!database.ok()) return fail(database.error());
  if (!journal) return adopt(*std::move(database), {});
  const std::string settings = settings_of(*journal);
  if (const Status done = database->execute(settings); !done.ok()) return fail(done.error());
  return adopt(*std::move(database), settings);
}

Result<std::unique_ptr<TraceWriter>> TraceWriter::adopt(Database database, std::string settings) {
  auto impl = std::make_unique<Impl>(std::move(database), std::move(settings));
  const Result<int64_t> version = impl->database->query_int("PRAGMA user_version");
  if (!version.ok()) return fail(version.error());
  impl->version = *version;
  for (const Status& known :
       {impl->continue_ids(impl->collective_traits), impl->continue_ids(impl->activity_traits)}) {
    if (!known.ok()) return fail(known.error());
  }
  Result<Statement> known = impl->database->prepare("SELECT id, value FROM string");
  if (!known.ok()) return fail(known.error());
  while (true) {
    const Result<bool> more = known->step();
    if (!more.ok()) return fail(more.error());
    if (!*more) break;
    impl->string_ids.emplace(known->text(1), known->integer(0));
  }
  return started(std::move(impl));
}

std::unique_ptr<TraceWriter> TraceWriter::started(std::unique_ptr<Impl> impl) {
  std::unique_ptr<TraceWriter> writer(new TraceWriter(std::move(impl)));
  writer->intern("");  // takes id 0 in a new file
  return writer;
}

template <typename Row>
Status TraceWriter::append(const Row& row) {
  static_assert(!std::is_same_v<Row, MetaRow> && !std::is_same_v<Row, StringRow>);
  ++impl_->rows;
  if constexpr (std::is_same_v<Row, CollectiveRow>) {
    return impl_->append(impl_->packed(row));
  } else if constexpr (std::is_same_v<Row, GpuActivityRow>) {
    return impl_->add_activity({row});
  } else if constexpr (std::is_same_v<Row, CommunicatorMemberRow>) {
    return impl_->add_member(row);
  } else {
    return impl_->append(row);
  }
}

template Status TraceWriter::append(const ThreadRow&);
template Status TraceWriter::append(const DeviceRow&);
template Status TraceWriter::append(const StreamRow&);
template Status TraceWriter::append(const HostRangeRow&);
template Status TraceWriter::append(const RangeDetailRow&);
template Status TraceWriter::append(const NvtxSchemaRow&);
template Status TraceWriter::append(const GpuActivityRow&);
template Status TraceWriter::append(const GpuDependencyRow&);
template Status TraceWriter::append(const CommunicatorRow&);
template Status TraceWriter::append(const CommunicatorMemberRow&);
template Status TraceWriter::append(const CollectiveRow&);
template Status TraceWriter::append(const StepRow&);
template Status TraceWriter::append(const MemoryEventRow&);
template Status TraceWriter::append(const MemorySampleRow&);
template Status TraceWriter::append(const LoaderEventRow&);
template Status TraceWriter::append(const ClockSampleRow&);
template Status TraceWriter::append(const ClockProbeRow&);
template Status TraceWriter::append(const SystemSampleRow&);
template Status TraceWriter::append(const CaptureRow&);
template Status TraceWriter::append(const NcclEventRow&);
template Status TraceWriter::append(const StackFrameRow&);
template Status TraceWriter::append(const CallStackRow&);
template Status TraceWriter::append(const LossRow&);
template Status TraceWriter::append(const DiagnosticRow&);

Status TraceWriter::append(const ShapedActivity& shaped) {
  impl_->rows += shaped.shape ? 2 : 1;
  return impl_->add_activity(shaped);
}

int64_t TraceWriter::intern(std::string_view text) {
  const auto [at, is_new] = impl_->string_ids.try_emplace(
      std::string(text), static_cast<int64_t>(impl_->string_ids.size()));
  if (is_new && impl_->failed) {
    impl_->keep(StringRow{.id = at->second, .value = at->first});
  } else if (is_new) {
    impl_->new_strings.push_back({.id = at->second, .value = at->first});
  }
  return at->second;
}

void TraceWriter::set_meta(std::string_view key, std::string_view value) {
  DPROF_CHECK(
      std::ranges::any_of(kMetaKeys, [&](const MetaKey& known) { return known.key == key; }));
  impl_->changed_meta.insert_or_assign(std::string(key), std::string(value));
}

Status TraceWriter::close_range(int64_t host_range_id, int64_t duration_ns) {
  const Kept::Closing closing{host_range_id, duration_ns};
  if (host_range_id <= impl_->committed_range_id) impl_->kept.closings.push_back(closing);
  if (const Status settled = impl_->settle<HostRangeRow>(); !settled.ok())
    return fail(settled.error());
  return impl_->write_closing(closing);
}

Status TraceWriter::update_collective(const CollectiveRow& row) {
  const PackedCollectiveRow packed = impl_->packed(row);
  if (row.id <= impl_->committed_collective_id) impl_->kept.collectives.push_back(packed);
  if (const Status settled = impl_->settle<PackedCollectiveRow>(); !settled.ok())
    return fail(settled.error());
  return impl_->write_change(packed);
}

Status TraceWriter::set_thread(const ThreadRow& row) { return impl_->replace(row); }
Status TraceWriter::set_device(const DeviceRow& row) { return impl_->replace(row); }
Status TraceWriter::set_stream(const StreamRow& row) { return impl_->replace(row); }
Status TraceWriter::set_communicator(const CommunicatorRow& row) { return impl_->replace(row); }

Result<int64_t> TraceWriter::change(const std::string& sql) {
  if (const Status begun = impl_->begin(); !begun.ok()) return fail(begun.error());
  if (const Status done = impl_->insert_pending(); !done.ok()) return fail(done.error());
  if (const Status done = impl_->note(impl_->database->execute(sql)); !done.ok()) {
    return fail(done.error());
  }
  return impl_->database->query_int("SELECT changes()");
}

Result<int64_t> TraceWriter::query_int(const std::string& sql) {
  if (const Status begun = impl_->begin(); !begun.ok()) return fail(begun.error());
  if (const Status done = impl_->insert_pending(); !done.ok()) return fail(done.error());
  return impl_->database->query_int(sql);
}

Status TraceWriter::delete_unused_traits() {
  if (const Status begun = impl_->begin(); !begun.ok()) return fail(begun.error());
  if (Status done = impl_->delete_unused(impl_->collective_traits, PackedCollectiveRow::kTable);
      !done.ok()) {
    return done;
  }
  return impl_->delete_unused(impl_->activity_traits, PackedGpuActivityRow::kTable);
}

Status TraceWriter::commit() { return impl_->commit(); }

Status TraceWriter::rest() {
  if (Status done = commit(); !done.ok()) return done;
  impl_->close();
  return Done{};
}

Status TraceWriter::resume() {
  Impl& impl = *impl_;
  for (const StringRow& row : impl.new_strings) impl.keep(row);
  impl.new_strings.clear();
  impl.failed.reset();
  if (Status opened = impl.note(impl.open_again()); !opened.ok()) return opened;
  if (Status written = impl.write_kept(); !written.ok()) return written;
  return impl.commit();
}

Result<bool> TraceWriter::finish() {
  if (const Status done = commit(); !done.ok()) return fail(done.error());
  if (const Status done = impl_->note(impl_->database->execute(create_views(impl_->version)));
      !done.ok()) {
    return fail(done.error());
  }
  const Result<std::string> mode = impl_->database->query_text("PRAGMA journal_mode = DELETE");
  if (mode.ok() && *mode == "delete") {
    const Result<int64_t> packs = impl_->database->query_int(fmt::format(
        "SELECT page_size > {} AND page_count * page_size <= {} FROM pragma_page_count(), pragma_page_size()",
        kSmallPage, kPackedBytes));
    // If a reader holds it or the disk is full, it stays unpacked, which is complete, too.
    if (packs.ok() && *packs != 0)
      static_cast<void>(impl_->database->execute(small_pages() + "VACUUM;").ok());
    return true;
  }
  if (mode.ok() || impl_->database->is_busy()) return false;
  static_cast<void>(impl_->note(fail(mode.error())).ok());
  return fail(mode.error());
}

const std::optional<Error>& TraceWriter::failed() const { return impl_->failed; }

int64_t TraceWriter::rows() const { return impl_->rows; }

}  // namespace dprof::schema
