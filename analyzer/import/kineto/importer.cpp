// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/kineto/importer.h"

#include <algorithm>
#include <charconv>
#include <memory>

#include "analyzer/import/format.h"
#include "analyzer/import/kineto/decimal.h"
#include "analyzer/import/kineto/skips.h"
#include "analyzer/import/kineto/words.h"

namespace dprof::analyzer::kineto {
namespace {

// Passes each event to the importer of its rank, by its process (`pid`). Data about the file goes
// to all of them; events of processes without a rank are counted with the first one.
class Splitter final : public DocumentHandler {
 public:
  // `rank_of_process` by the text of `pid`, from the names of the processes.
  static Result<std::unique_ptr<Splitter>> make(FileSink& run, const Input& input,
                                                std::map<std::string, int> rank_of_process);

  void event(const Event& event) override;
  void bad_element(BadElement why) override;
  void member(std::string_view key, const Value& value) override;
  bool go_on() override;

  // After the document. Fails if a sink fails.
  Status finish();

 private:
  struct Part {
    TraceSink* sink;
    std::shared_ptr<Importer> importer;
  };
  Splitter() = default;

  std::map<std::string, size_t, std::less<>> part_of_process_;
  std::vector<Part> parts_;  // by rank
};

Result<std::unique_ptr<Splitter>> Splitter::make(FileSink& run, const Input& input,
                                                 std::map<std::string, int> rank_of_process) {
  std::unique_ptr<Splitter> splitter(new Splitter);
  std::map<int, size_t> part_of_rank;
  for (const auto& [process, rank] : rank_of_process) part_of_rank[rank] = 0;
  for (auto& [rank, part] : part_of_rank) {
    part = splitter->parts_.size();
    const Result<TraceSink*> sink = run.open_trace();
    if (!sink.ok()) return fail(sink.error());
    auto importer = std::make_shared<Importer>(run, **sink, input);
    importer->be_rank(rank);
    splitter->parts_.push_back({*sink, std::move(importer)});
  }
  for (auto& [process, rank] : rank_of_process)
    splitter->part_of_process_[process] = part_of_rank[rank];
  return splitter;
}

void Splitter::event(const Event& event) {
  const auto part = part_of_process_.find(event[Field::kPid].raw);
  if (part == part_of_process_.end()) return parts_.front().sink->skip(kOfNoRank);
  parts_[part->second].importer->event(event);
}

void Splitter::bad_element(BadElement why) { parts_.front().importer->bad_element(why); }

void Splitter::member(std::string_view key, const Value& value) {
  for (const Part& part : parts_) part.importer->member(key, value);
}

bool Splitter::go_on() {
  bool wanted = true;
  for (const Part& part : parts_) wanted = part.importer->go_on() && wanted;
  return wanted;
}

Status Splitter::finish() {
  for (const Part& part : parts_) {
    part.importer->finish();
    part.sink->set_second_look(part.importer);
    if (Status good = part.sink->status(); !good.ok()) return good;
  }
  return Done{};
}

using schema::GpuActivityKind;
using schema::RangeCategory;

constexpr std::string_view kStepPrefix = "ProfilerStep#";

std::optional<int64_t> positive(std::optional<int64_t> value) {
  return value.value_or(0) > 0 ? value : std::nullopt;
}

// 7 from "7" and from "stream 7".
std::optional<int64_t> trailing_number(const Value& value) {
  if (!value.scalar()) return std::nullopt;
  std::string_view text = value.raw;
  if (const size_t space = text.rfind(' '); space != std::string_view::npos)
    text = text.substr(space + 1);
  return whole_number(text);
}

// Three numbers, like "[32, 2, 1]".
bool read_triple(const Value& value, int64_t& x, int64_t& y, int64_t& z) {
  if (value.kind != Value::Kind::kArray) return false;
  const char* at = value.raw.data() + 1;
  const char* end = value.raw.data() + value.raw.size();
  for (int64_t* number : {&x, &y, &z}) {
    while (at < end && (*at == ' ' || *at == ',' || *at == '\n')) ++at;
    const auto [stop, error] = std::from_chars(at, end, *number);
    if (error != std::errc()) return false;
    at = stop;
  }
  return true;
}

std::optional<schema::KernelShapeRow> shape_of(const Event& event) {
  schema::KernelShapeRow shape;
  if (!read_triple(event[Arg::kGrid], shape.grid_x, shape.grid_y, shape.grid_z) ||
      !read_triple(event[Arg::kBlock], shape.block_x, shape.block_y, shape.block_z)) {
    return std::nullopt;
  }
  shape.registers = number_of(event, Arg::kRegisters).value_or(0);
  shape.static_shared_bytes = number_of(event, Arg::kSharedMemory).value_or(0);
  return shape;
}

bool is_communication_range(std::string_view name) {
  return name.starts_with("nccl:") || name.starts_with("gloo:") || name.starts_with("mpi:") ||
         name == kCallName;
}

bool is_profilers_mark(std::string_view name) {
  return name.starts_with("Iteration Start: ") || name.starts_with("Record Window End");
}

bool recognises(std::string_view head) {
  if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
  const size_t first = head.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (head[first] == '{' || head[first] == '[');
}

// Second pass, with known ranks of the processes.
Status read_each_rank(const std::filesystem::path& path, FileSink& run,
                      std::map<std::string, int> rank_of_process) {
  run.drop();
  Result<Input> input = Input::open(path);
  if (!input.ok()) return fail(input.error());
  Result<std::unique_ptr<Splitter>> splitter =
      Splitter::make(run, *input, std::move(rank_of_process));
  if (!splitter.ok()) return fail(splitter.error());
  const DocumentEnd end = read_document(*input, **splitter);
  if (Status good = (*splitter)->finish(); !good.ok()) return good;
  return end.stopped ? FileSink::cancelled() : Status(Done{});
}

Status read(const std::filesystem::path& path, FileSink& run) {
  Result<Input> input = Input::open(path);
  if (!input.ok()) return fail(input.error());
  Result<TraceSink*> sink = run.open_trace();
  if (!sink.ok()) return fail(sink.error());
  auto importer = std::make_shared<Importer>(run, **sink, *input);
  const DocumentEnd end = read_document(*input, *importer);
  if (end.stopped) {
    if (Status good = (*sink)->status(); !good.ok()) return good;
    return FileSink::cancelled();
  }
  if (!end.has_events) {
    const std::string why = end.why.empty() ? "it contains no traceEvents" : end.why;
    return fail(end.whole ? Code::kNotATrace : Code::kDamaged, path.string() + ": " + why,
                "Chrome JSON is an object with `traceEvents`, or an array of events");
  }
  if (!end.whole) run.damaged(end.why);
  if (importer->broken() > 0)
    run.damaged(std::to_string(importer->broken()) + " of its events are not JSON");
  if (const auto& ranks = importer->ranks_of_processes(); !ranks.empty())
    return read_each_rank(path, run, ranks);
  importer->finish();
  (*sink)->set_second_look(importer);
  return (*sink)->status();
}

}  // namespace

const Format kFormat = {.name = "chrome", .recognises = recognises, .read = read};

bool Importer::go_on() { return sink_.status().ok() && run_.progress(input_.share()); }

void Importer::member(std::string_view key, const Value& value) { facts_.member(key, value); }

void Importer::bad_element(BadElement why) {
  switch (why) {
    case BadElement::kNotAnObject:
      return sink_.skip(kNotAnObject);
    case BadElement::kTooDeep:
      return sink_.skip(kTooDeep);
    case BadElement::kTooLong:
      return sink_.skip(kTooLong);
    case BadElement::kNotJson:
      break;
  }
  ++broken_;
  sink_.skip(kNotJson);
}

std::optional<int64_t> Importer::time(const Event& event) {
  const Value value = event[Field::kTs];
  if (!value.scalar()) return std::nullopt;
  const std::optional<int64_t> time = ns_of_us(value.raw, &decimals_);
  if (time) latest_ = std::max(latest_, *time);
  return time;
}

std::string_view Importer::name(const Event& event) {
  const Value value = event[Field::kName];
  if (!value.scalar()) return {};
  if (!value.escaped) return value.raw;
  name_ = unescape(value.raw);
  return name_;
}

void Importer::event(const Event& event) {
  const Value phase = event[Field::kPh];
  if (phase.kind != Value::Kind::kString || phase.raw.empty()) return sink_.skip(kNoPhase);
  switch (phase.raw.front()) {
    case 'X':
      return complete(event);
    case 's':
    case 't':
    case 'f':
      return flow(event);
    case 'M':
      return metadata(event);
    case 'C':
      return sink_.skip(kCounters, time(event));
    case 'i':
    case 'I':
    case 'R':
    case 'n':
      return instant(event);
    case 'B':
    case 'E':
    case 'b':
    case 'e':
    case 'S':
    case 'F':
      break;
    default:
      return sink_.skip(kOtherPhases, time(event));
  }
  const std::optional<int64_t> at = time(event);
  if (!at) return sink_.skip(kNoTime);
  switch (phase.raw.front()) {
    case 'B':
      return pairs_.begin(threads_.of(event), *at, name(event));
    case 'E':
      return pairs_.end(threads_.of(event), *at, name(event));
    case 'b':
    case 'S':
      return pairs_.begin_async(event, threads_.of(event), *at, name(event));
    default:
      return pairs_.end_async(event, *at);
  }
}

void Importer::flow(const Event& event) {
  const bool own = topic_of(event[Field::kCat].raw) == Topic::kLaunchFlow;
  sink_.skip(own ? kLaunchArrows : kArrows, time(event));
}

void Importer::metadata(const Event& event) {
  const std::string_view what = name(event);
  const Value value = event[Arg::kName];
  if (what == "thread_name" && value.kind == Value::Kind::kString) {
    return threads_.name(event, unescape(value.raw));
  }
  const std::string_view process = event[Field::kPid].raw;
  if (what == "process_name" && value.kind == Value::Kind::kString)
    facts_.process_name(process, value.raw);
  if (const Value labels = event[Arg::kLabels]; labels.kind == Value::Kind::kString)
    facts_.process_name(process, labels.raw);
  sink_.skip(kDisplayHints);
}

void Importer::complete(const Event& event) {
  const std::optional<int64_t> start = time(event);
  if (!start) return sink_.skip(kNoTime);
  const Value length = event[Field::kDur];
  const std::optional<int64_t> duration = length.scalar() ? ns_of_us(length.raw) : std::nullopt;
  if (!duration) return sink_.skip(kNoDuration, start);
  if (*duration < 0) return sink_.skip(kNegative, start);
  const Topic topic = topic_of(event[Field::kCat].raw);
  has_kineto_rows_ = has_kineto_rows_ || topic != Topic::kOther;
  const Span span{*start, *duration};
  switch (topic) {
    case Topic::kKernel:
    case Topic::kMemcpy:
    case Topic::kMemset:
    case Topic::kSync:
      return gpu_row(event, span, topic);
    case Topic::kGpuAnnotation:
      return sink_.skip(kGpuAnnotations, start);
    case Topic::kProfilerSpan:
      return sink_.skip(kProfilerSpans, start);
    default:
      return host_range(event, span, topic);
  }
}

RangeCategory Importer::category(const Event& event, Topic topic, std::string_view name) const {
  switch (topic) {
    case Topic::kApi:
      return RangeCategory::kApi;
    case Topic::kOverhead:
      return RangeCategory::kOverhead;
    case Topic::kPython:
      return RangeCategory::kPython;
    case Topic::kOp:
      break;
    default:
      return RangeCategory::kUser;
  }
  if (name.starts_with(kStepPrefix)) return RangeCategory::kUser;
  const bool backward = positive(number_of(event, Arg::kForwardThread)).has_value();
  return backward || is_autograd_name(name) ? RangeCategory::kAutograd : RangeCategory::kOp;
}

void Importer::host_range(const Event& event, const Span& span, Topic topic) {
  const std::string_view what = name(event);
  schema::HostRangeRow row{.thread_id = threads_.of(event),
                           .start_ns = span.start,
                           .duration_ns = span.duration,
                           .name_id = sink_.text(what),
                           .category = category(event, topic, what)};
  if (topic == Topic::kApi) {
    row.correlation = positive(number_of(event, Arg::kCorrelation));
  } else if (const auto sequence = number_of(event, Arg::kSequenceNumber);
             sequence.value_or(-1) >= 0) {
    row.sequence = sequence;
  }
  if (row.category == RangeCategory::kAutograd) threads_.is_autograd(row.thread_id);
  if ((topic == Topic::kOp || topic == Topic::kUser) && is_communication_range(what)) {
    if (what.starts_with("gloo:")) threads_.communicates(row.thread_id);
    collectives_.add_call(event, row, what);
  }
  if (topic != Topic::kPython && what.starts_with(kStepPrefix)) step(what, span);
  sink_.add(row);
}

void Importer::step(std::string_view name, const Span& span) {
  const std::optional<int64_t> number = whole_number(name.substr(kStepPrefix.size()));
  if (!number || *number < 0) return;
  sink_.add(schema::StepRow{.step_index = *number,
                            .start_ns = span.start,
                            .end_ns = span.start + span.duration,
                            .source = schema::StepSource::kMarker});
}

void Importer::gpu_row(const Event& event, const Span& span, Topic topic) {
  const std::string_view what = name(event);
  const auto or_else = [](std::optional<int64_t> value, const Value& other) {
    return value ? *value : trailing_number(other).value_or(0);
  };
  const int64_t device = or_else(number_of(event, Arg::kDevice), event[Field::kPid]);
  const int64_t stream = or_else(number_of(event, Arg::kStream), event[Field::kTid]);
  schema::GpuActivityRow row{.device_id = std::clamp<int64_t>(device, -1, INT32_MAX),
                             .start_ns = span.start,
                             .duration_ns = span.duration,
                             .name_id = sink_.text(what),
                             .bytes = number_of(event, Arg::kBytes),
                             .correlation = positive(number_of(event, Arg::kCorrelation)),
                             .graph_node = positive(number_of(event, Arg::kGraphNodeId)),
                             .graph = positive(number_of(event, Arg::kGraphId))};
  row.stream_id = sink_.stream(row.device_id, stream);
  if (topic == Topic::kSync) return sync_row(event, row);
  row.kind = topic == Topic::kMemcpy   ? copy_kind(what)
             : topic == Topic::kMemset ? GpuActivityKind::kMemset
                                       : GpuActivityKind::kKernel;
  if (topic != Topic::kKernel) return sink_.add(row);
  const auto [known, is_new] = communicates_.try_emplace(row.name_id, false);
  if (is_new) known->second = is_communication_kernel(what);
  if (known->second || event.has(Arg::kCollectiveName)) collectives_.add_kernel(event, row, what);
  sink_.add(row, shape_of(event));
}

// What the device waited for, in addition to the wait.
void Importer::sync_row(const Event& event, const schema::GpuActivityRow& row) {
  schema::GpuActivityRow sync = row;
  sync.kind = GpuActivityKind::kSync;
  sink_.add(sync);
  schema::GpuDependencyRow wait{
      .event = 0, .wait_ns = row.start_ns, .correlation = row.correlation};
  const std::string_view kind = event[Arg::kSyncKind].raw;
  const std::optional<int64_t> recorder = number_of(event, Arg::kWaitOnStream);
  if (kind == "Stream Sync" || kind == "Stream Synchronize") {
    wait.record_stream_id = row.stream_id;
  } else if (event.has(Arg::kWaitOnEvent)) {
    wait.event = number_of(event, Arg::kWaitOnEvent).value_or(0);
    if (recorder.value_or(-1) >= 0) wait.record_stream_id = sink_.stream(row.device_id, *recorder);
    if (kind.starts_with("Stream Wait")) wait.wait_stream_id = row.stream_id;
  } else {
    return;
  }
  collectives_.add_dependency(wait, positive(number_of(event, Arg::kWaitOnRecord)));
}

void Importer::instant(const Event& event) {
  const std::optional<int64_t> at = time(event);
  const std::string_view what = name(event);
  if (is_profilers_mark(what)) return sink_.skip(kProfilerSpans, at);
  if (!at) return sink_.skip(kNoTime);
  if (what == "[memory]") return memory(event, *at, false);
  if (what == "[OutOfMemory]") return memory(event, *at, true);
  sink_.add(schema::HostRangeRow{.thread_id = threads_.of(event),
                                 .start_ns = *at,
                                 .duration_ns = 0,
                                 .name_id = sink_.text(what),
                                 .category = RangeCategory::kNvtxMark});
}

void Importer::memory(const Event& event, int64_t time, bool out_of_memory) {
  const std::optional<int64_t> bytes = number_of(event, Arg::kMemoryBytes);
  if (!bytes || *bytes == INT64_MIN) {
    sink_.skip(kNoSize, time);
    return;
  }
  has_kineto_rows_ = true;
  const bool on_host = number_of(event, Arg::kDeviceType).value_or(0) == 0;
  const int64_t device = number_of(event, Arg::kDeviceId).value_or(0);
  sink_.add(
      schema::MemoryEventRow{.thread_id = threads_.of(event),
                             .device_id = on_host ? -1 : std::clamp<int64_t>(device, 0, INT32_MAX),
                             .time_ns = time,
                             .kind = out_of_memory ? schema::MemoryEventKind::kOom
                                     : *bytes < 0  ? schema::MemoryEventKind::kFree
                                                   : schema::MemoryEventKind::kAlloc,
                             .address = number_of(event, Arg::kMemoryAddress).value_or(0),
                             .bytes = *bytes < 0 ? -*bytes : *bytes,
                             .allocated_bytes = number_of(event, Arg::kTotalAllocated),
                             .reserved_bytes = number_of(event, Arg::kTotalReserved)});
}

void Importer::finish() {
  pairs_.finish();
  if (const int64_t unused = threads_.finish(); unused > 0)
    sink_.skip(kDisplayHints, std::nullopt, unused);
  facts_.give_to(sink_, collectives_.groups(), latest_, decimals_);
  collectives_.set_own_rank(facts_.rank());
  collectives_.set_job_backend(backend_of(facts_.backend()));
  sink_.set_format(facts_.of_kineto() || has_kineto_rows_ ? "kineto" : "chrome");
}

void Importer::range(const schema::HostRangeRow& row) { collectives_.range(row); }
void Importer::all_seen() { collectives_.all_seen(); }

}  // namespace dprof::analyzer::kineto
