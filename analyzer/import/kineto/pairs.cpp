// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/kineto/pairs.h"

#include "analyzer/import/kineto/skips.h"

namespace dprof::analyzer::kineto {

void Pairs::begin(int64_t thread, int64_t time, std::string_view name) {
  threads_[thread].push_back({{.thread_id = thread,
                               .start_ns = time,
                               .name_id = sink_.text(name),
                               .category = schema::RangeCategory::kUser},
                              std::string(name)});
}

void Pairs::end(int64_t thread, int64_t time, std::string_view name) {
  std::vector<Open>& open = threads_[thread];
  size_t at = open.size();
  while (at > 0 && !name.empty() && open[at - 1].name != name) --at;
  if (at == 0) {
    sink_.skip(kEndWithoutBegin, time);
    return;
  }
  close(open, at - 1, time);
}

void Pairs::close(std::vector<Open>& open, size_t at, int64_t time) {
  schema::HostRangeRow row = open[at].row;
  open.erase(open.begin() + static_cast<ptrdiff_t>(at));
  if (time < row.start_ns) {
    sink_.skip(kNegative, time, 2);
    return;
  }
  row.duration_ns = time - row.start_ns;
  sink_.add(row);
  sink_.used();  // the end
}

// Category and id; a local id belongs to its process.
const std::string& Pairs::async_key(const Event& event) {
  key_.assign(event[Field::kCat].raw);
  key_ += '\n';
  const Value id = event.has(Field::kId) ? event[Field::kId] : event[Field::kId2];
  key_ += id.raw;
  if (id.kind == Value::Kind::kObject && id.raw.find("\"local\"") != std::string_view::npos) {
    key_ += '\n';
    key_ += event[Field::kPid].raw;
  }
  return key_;
}

void Pairs::begin_async(const Event& event, int64_t thread, int64_t time, std::string_view name) {
  async_[async_key(event)].push_back({{.thread_id = thread,
                                       .start_ns = time,
                                       .name_id = sink_.text(name),
                                       .category = schema::RangeCategory::kNvtxProcess},
                                      std::string(name)});
}

void Pairs::end_async(const Event& event, int64_t time) {
  const auto open = async_.find(async_key(event));
  if (open == async_.end()) {
    sink_.skip(kEndWithoutBegin, time);
    return;
  }
  close(open->second, open->second.size() - 1, time);
  if (open->second.empty()) async_.erase(open);
}

void Pairs::finish() {
  const auto write = [&](auto& all) {
    for (auto& [key, open] : all) {
      for (const Open& range : open) sink_.add(range.row);
    }
    all.clear();
  };
  write(threads_);
  write(async_);
}

}  // namespace dprof::analyzer::kineto
