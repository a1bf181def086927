// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <map>

#include "analyzer/import/format.h"
#include "analyzer/import/input.h"
#include "analyzer/import/kineto/decimal.h"
#include "analyzer/import/kineto/document.h"
#include "analyzer/import/kineto/skips.h"
#include "analyzer/import/operation_table/layout.h"

namespace dprof::analyzer::operation_table {
namespace {

namespace fs = std::filesystem;
using kineto::Arg;
using kineto::BadElement;
using kineto::Event;
using kineto::Field;
using kineto::Value;

constexpr Skip kNames{.what = "thread and process names and sort orders", .repeats = true};
constexpr Skip kOtherRows{.what = "rows that are not operations"};
constexpr Skip kUnknown{.what = "operations of unknown kind"};
constexpr Skip kNoPlace{.what = "operations on threads that do not name a rank"};
constexpr Skip kNoStep{.what = "operations without a step"};
constexpr Skip kNoNeighbour{.what = "messages to or from a stage that does not exist (never sent)",
                            .repeats = true};

bool recognises(std::string_view head) {
  const auto says = [&](std::string_view word) {
    return head.find(word) != std::string_view::npos;
  };
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (head[first] != '[' && head[first] != '{')) return false;
  return (says("\"forward-compute\"") || says("\"backward-compute\"")) && says("\"seq_id\"") &&
         says("\"step\"");
}

// First pass: only names. Reports progress as the first half.
class LayoutReader final : public kineto::DocumentHandler {
 public:
  LayoutReader(FileSink& file, const Input& input, Layout& layout)
      : file_(file), input_(input), layout_(layout) {}

  void event(const Event& event) override { layout_.learn(event); }
  void bad_element(BadElement) override {}
  void member(std::string_view, const Value&) override {}
  bool go_on() override { return file_.progress(input_.share() / 2); }

 private:
  FileSink& file_;
  const Input& input_;
  Layout& layout_;
};

// One rank while its rows are read.
struct Rank {
  Place place;
  TraceSink* trace = nullptr;
  int64_t thread = 0;
  std::map<With, int64_t> communicators;
  std::map<int64_t, std::pair<int64_t, int64_t>> steps;  // by index: begin and end
};

// Second pass: the rows.
class RowReader final : public kineto::DocumentHandler {
 public:
  RowReader(FileSink& file, const fs::path& path, const Input& input, const Layout& layout)
      : file_(file), host_(path.filename().string()), input_(input), layout_(layout) {}

  void event(const Event& event) override {
    if (!status_.ok()) return;
    if (event[Field::kPh].raw != "X")
      return skip(event[Field::kPh].raw == "M" ? kNames : kOtherRows);
    const std::optional<Place> place = layout_.place_of(event);
    if (!place) return skip(kNoPlace);
    Rank* rank = rank_at(*place);
    if (rank != nullptr) add(*rank, event);
  }

  void bad_element(BadElement why) override {
    if (why == BadElement::kNotAnObject) return skip(kineto::kNotAnObject);
    if (why == BadElement::kTooDeep) return skip(kineto::kTooDeep);
    if (why == BadElement::kTooLong) return skip(kineto::kTooLong);
    ++broken_;
    skip(kineto::kNotJson);
  }

  void member(std::string_view, const Value&) override {}
  bool go_on() override { return status_.ok() && file_.progress(0.5 + input_.share() / 2); }

  // After the document.
  Status finish() {
    if (!status_.ok()) return status_;
    if (ranks_.empty()) return fail(Code::kNotATrace, "no operations at all");
    TraceSink& first = *ranks_.begin()->second.trace;
    for (const auto& [what, skipped] : skipped_)
      first.skip(skipped.first, std::nullopt, skipped.second);
    if (broken_ > 0) file_.damaged(fmt::format("{} of its rows are not JSON", broken_));
    // A table can contain every 34th step only: its steps are numbered consecutively.
    std::map<int64_t, int64_t> number_of;
    for (const auto& [place, rank] : ranks_) {
      for (const auto& [index, span] : rank.steps) number_of[index] = 0;
    }
    int64_t next = 0;
    for (auto& [index, number] : number_of) number = next++;
    for (auto& [place, rank] : ranks_) {
      rank.trace->set_clock({.host = host_,
                             .realtime_at_zero_ns = std::nullopt,
                             .resolution_ns = decimals_ >= 3   ? 1
                                              : decimals_ == 0 ? 1000
                                                               : 10});
      for (const auto& [index, span] : rank.steps) {
        rank.trace->add(schema::StepRow{.step_index = number_of[index],
                                        .start_ns = span.first,
                                        .end_ns = span.second,
                                        .source = schema::StepSource::kMarker});
      }
      if (Status good = rank.trace->status(); !good.ok()) return good;
    }
    return Done{};
  }

 private:
  // For no particular rank: reported at the end, by the first one.
  void skip(const Skip& cause) {
    auto [entry, is_new] = skipped_.try_emplace(std::string(cause.what), cause, 0);
    ++entry->second.second;
  }

  Rank* rank_at(const Place& place) {
    const auto known = ranks_.find(place);
    if (known != ranks_.end()) return &known->second;
    Result<TraceSink*> trace = file_.open_trace();
    if (!trace.ok()) {
      status_ = fail(trace.error());
      return nullptr;
    }
    Rank rank{.place = place, .trace = *trace, .communicators = {}, .steps = {}};
    rank.trace->set_rank(layout_.rank_of(place));
    rank.trace->set_world_size(static_cast<int>(layout_.world()));
    schema::ThreadRow thread;
    thread.name_id = rank.trace->text(fmt::format("stage {} of {}", place.stage, layout_.stages()));
    thread.role = schema::ThreadRole::kMain;
    rank.thread = rank.trace->add_thread(thread);
    return &ranks_.emplace(place, std::move(rank)).first->second;
  }

  void add(Rank& rank, const Event& event) {
    TraceSink& trace = *rank.trace;
    const Value ts = event[Field::kTs];
    const Value dur = event[Field::kDur];
    const auto start = ts.scalar() ? kineto::ns_of_us(ts.raw, &decimals_) : std::nullopt;
    if (!start) return trace.skip(kineto::kNoTime);
    const auto length = dur.scalar() ? kineto::ns_of_us(dur.raw) : std::nullopt;
    if (!length) return trace.skip(kineto::kNoDuration, *start);
    if (*length < 0) return trace.skip(kineto::kNegative, *start);
    const Operation* operation = operation_of(event[Field::kName].raw);
    if (operation == nullptr) return trace.skip(kUnknown, *start);
    const Value number = event[Arg::kStep];
    const auto step = number.scalar() ? kineto::whole_number(number.raw) : std::nullopt;
    if (!step || *step < 0) return trace.skip(kNoStep, *start);
    const int64_t end = *start + *length;
    if (operation->with == With::kNobody) {
      trace.add(schema::HostRangeRow{.thread_id = rank.thread,
                                     .start_ns = *start,
                                     .duration_ns = *length,
                                     .name_id = trace.text(operation->range),
                                     .category = schema::RangeCategory::kUser});
    } else {
      if (!communicate(rank, *operation, *start, end)) return trace.skip(kNoNeighbour, *start);
      if (!operation->also.empty())
        (void)communicate(rank, *operation_of(operation->also), *start, end);
    }
    const auto [span, is_new] = rank.steps.try_emplace(*step, *start, end);
    span->second = {std::min(span->second.first, *start), std::max(span->second.second, end)};
  }

  // False: no partner exists.
  bool communicate(Rank& rank, const Operation& operation, int64_t start, int64_t end) {
    schema::CollectiveRow row;
    if (operation.with == With::kNext || operation.with == With::kPrevious) {
      row.peer = layout_.neighbour(rank.place, operation.with);
      if (!row.peer) return false;
    }
    row.communicator_id = communicator(rank, operation.with);
    row.function = operation.function;
    row.start_ns = start;
    row.end_ns = end;
    row.state = schema::CollectiveState::kComplete;
    row.source = schema::Source::kImport;
    rank.trace->add(row);
    return true;
  }

  static std::string_view name_of(With with) {
    switch (with) {
      case With::kNobody:
      case With::kNext:
      case With::kPrevious:
        break;
      case With::kReplicas:
        return "data parallel";
      case With::kTensor:
        return "tensor parallel";
      case With::kEmbedding:
        return "embedding";
      case With::kWorld:
        return "world";
    }
    return "pipeline";
  }

  int64_t communicator(Rank& rank, With with) {
    const With key = with == With::kPrevious ? With::kNext : with;
    const auto known = rank.communicators.find(key);
    if (known != rank.communicators.end()) return known->second;
    const std::vector<int> members = layout_.members(rank.place, key);
    std::string identity(name_of(key));
    for (const int member : members) identity += fmt::format(" {}", member);
    schema::CommunicatorRow row;
    row.hash = static_cast<int64_t>(XXH3_64bits(identity.data(), identity.size()) | 1U);
    row.backend = schema::Backend::kOther;
    row.size = static_cast<int64_t>(members.size());
    const auto own = std::ranges::find(members, layout_.rank_of(rank.place));
    if (own != members.end()) row.own_rank = own - members.begin();
    row.name_id = rank.trace->text(name_of(key));
    const int64_t id = rank.trace->add_communicator(row, members);
    rank.communicators[key] = id;
    return id;
  }

  FileSink& file_;
  std::string host_;
  const Input& input_;
  const Layout& layout_;
  std::map<Place, Rank> ranks_;
  std::map<std::string, std::pair<Skip, int64_t>> skipped_;
  Status status_ = Done{};
  int64_t broken_ = 0;
  int decimals_ = 0;
};

Status read(const fs::path& path, FileSink& file) {
  Layout layout;
  {
    Result<Input> input = Input::open(path);
    if (!input.ok()) return fail(input.error());
    LayoutReader reader(file, *input, layout);
    if (read_document(*input, reader).stopped) return FileSink::cancelled();
  }
  if (layout.empty() || !layout.fits()) {
    return fail(
        Code::kNotATrace,
        fmt::format(
            "{}: {}", path.string(),
            layout.empty()
                ? "no thread is named by its stage (\"PP rank 0, TP rank 0, …\"): it is not known which rank a row belongs to"
                : "its threads name more ranks than possible"));
  }
  Result<Input> input = Input::open(path);
  if (!input.ok()) return fail(input.error());
  RowReader reader(file, path, *input, layout);
  const kineto::DocumentEnd end = read_document(*input, reader);
  if (Status good = reader.finish(); !good.ok()) return good;
  if (end.stopped) return FileSink::cancelled();
  if (!end.whole) file.damaged(end.why);
  return Done{};
}

}  // namespace

const Format kFormat{.name = "operation_table", .recognises = recognises, .read = read};

}  // namespace dprof::analyzer::operation_table
