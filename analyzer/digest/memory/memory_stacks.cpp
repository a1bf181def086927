// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/memory/memory_stacks.h"

#include <vector>

#include "schema/stack_words.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kMostFrames = 256;  // frames examined, from the innermost on

bool is_python(const std::string& file) { return file.ends_with(".py") || file.starts_with("<"); }

bool is_torch(const schema::StackPlace& place) {
  return place.kind == schema::StackKind::kNative ||
         place.file.find("/torch/") != std::string::npos;
}

}  // namespace

Status AllocationStacks::load() {
  return reader_.for_each<schema::CallStackRow>(
      [&](const schema::CallStackRow& row) { frames_.insert_or_assign(row.id, row); });
}

std::string AllocationStacks::words(int64_t stack_id) const {
  std::vector<schema::StackPlace> all;
  std::vector<schema::StackPlace> of_program;
  for (int64_t id = stack_id; all.size() < kMostFrames;) {
    const auto frame = frames_.find(id);
    if (frame == frames_.end()) break;
    const schema::CallStackRow& row = frame->second;
    const std::string& file = reader_.string(row.file_id.value_or(0));
    all.push_back(
        {.kind = is_python(file) ? schema::StackKind::kPython : schema::StackKind::kNative,
         .function = reader_.string(row.function_id),
         .file = file,
         .line = row.line});
    if (!is_torch(all.back())) of_program.push_back(all.back());
    if (!row.caller_id || *row.caller_id >= id) break;  // else a damaged trace could loop forever
    id = *row.caller_id;
  }
  return schema::words_of_stack(of_program.empty() ? all : of_program);
}

}  // namespace dprof::analyzer
