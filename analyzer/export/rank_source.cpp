// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/rank_source.h"

#include <algorithm>
#include <map>
#include <system_error>
#include <tuple>

namespace dprof::analyzer {

Result<RankSource> RankSource::open(const TraceFile& trace, const RankAnalysis* found,
                                    const std::optional<std::pair<int64_t, int64_t>>& steps) {
  Result<schema::TraceReader> reader = schema::TraceReader::open(trace.path);
  if (!reader.ok()) return fail(reader.error());
  RankSource source(trace, found, *std::move(reader));
  source.steps_ = steps;
  if (!steps || found == nullptr) return source;
  source.window_ = Interval{};
  for (const StepWindow& step : found->steps) {
    if (step.index < steps->first || step.index >= steps->second) continue;
    const TraceNs begin{found->clock.from_axis(step.window.begin).ns - trace.shift_ns};
    const TraceNs end{found->clock.from_axis(step.window.end).ns - trace.shift_ns};
    if (source.window_->empty()) source.window_ = {begin, end};
    source.window_->begin = std::min(source.window_->begin, begin);
    source.window_->end = std::max(source.window_->end, end);
  }
  return source;
}

int64_t RankSource::on_axis(int64_t time_ns) const {
  if (found_ == nullptr) return within_reach(time_ns);
  const TraceNs local{within_reach(within_reach(time_ns) + within_reach(file_->shift_ns))};
  return within_reach(found_->clock.to_axis(local).ns);
}

bool RankSource::wants(int64_t start_ns, std::optional<int64_t> duration_ns) const {
  if (!window_) return true;
  const int64_t length = std::max<int64_t>(0, within_reach(duration_ns.value_or(0)));
  const int64_t end = within_reach(start_ns) + length;
  return start_ns < window_->end.ns && (end > window_->begin.ns || start_ns >= window_->begin.ns);
}

Status KernelShapes::read(const schema::TraceReader& reader) {
  constexpr size_t kMostMissing = size_t{1} << 20;  // a damaged id must not size the table
  const auto values = [](const schema::KernelShapeRow& row) {
    return std::make_tuple(row.grid_x, row.grid_y, row.grid_z, row.block_x, row.block_y,
                           row.block_z, row.registers, row.static_shared_bytes,
                           row.dynamic_shared_bytes);
  };
  std::map<decltype(values(schema::KernelShapeRow{})), uint32_t> known;
  return reader.for_each<schema::KernelShapeRow>([&](const schema::KernelShapeRow& row) {
    if (shape_of_.empty()) first_ = row.activity_id;
    const int64_t at = within_reach(row.activity_id) - within_reach(first_);
    if (at < 0 || static_cast<size_t>(at) > shape_of_.size() + kMostMissing) return;
    const auto [entry, is_new] =
        known.try_emplace(values(row), static_cast<uint32_t>(shapes_.size() + 1));
    if (is_new) shapes_.push_back(row);
    if (static_cast<size_t>(at) >= shape_of_.size()) shape_of_.resize(static_cast<size_t>(at) + 1);
    shape_of_[static_cast<size_t>(at)] = entry->second;
  });
}

const schema::KernelShapeRow* KernelShapes::of(int64_t activity) const {
  const int64_t at = within_reach(activity) - within_reach(first_);
  if (at < 0 || static_cast<size_t>(at) >= shape_of_.size()) return nullptr;
  const uint32_t shape = shape_of_[static_cast<size_t>(at)];
  return shape == 0 ? nullptr : &shapes_[shape - 1];
}

std::filesystem::path spill_folder() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  return error ? std::filesystem::path("/tmp") : folder;
}

Status ExportJob::report_progress(std::string_view stage, double share) {
  if (stage_ != stage) stage_ = stage;
  share_ = share;
  if (progress_ && !stopped_) stopped_ = !progress_(stage_, share_);
  if (!stopped_) return Done{};
  return fail(Code::kUsage, "cancelled");
}

void ExportJob::left_out(std::string_view what, int64_t count) {
  if (count <= 0) return;
  const auto known = std::ranges::find(summary_.left_out, what, &ExportLeftOut::what);
  if (known != summary_.left_out.end()) {
    known->count += count;
  } else {
    summary_.left_out.push_back({std::string(what), count});
  }
}

}  // namespace dprof::analyzer
