// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/rows/names.h"

#include "base/symbol.h"
#include "collector/recorder/common/text.h"
#include "collector/wire/arena.h"

namespace dprof::recorder {

Names::Names(const wire::Mapping& mapping, TraceOutput& output)
    : mapping_(mapping), output_(output), last_(&known_.emplace(0, Name{}).first->second) {
  known_.reserve(4096);
  last_ = &known_.at(0);
}

const Name& Names::find(uint32_t arena_id_untrusted) {
  if (arena_id_untrusted == last_id_) return *last_;
  const auto known = known_.find(arena_id_untrusted);
  last_ = known != known_.end() ? &known->second : &read(arena_id_untrusted);
  last_id_ = arena_id_untrusted;
  return *last_;
}

std::string Names::text(uint32_t arena_id) const {
  const uint64_t used_untrusted = mapping_.header()->arena_used.load(std::memory_order_acquire);
  const bool inside = uint64_t{arena_id} * wire::kArenaUnit < used_untrusted;
  const wire::ArenaText entry = inside ? wire::arena_text(mapping_, arena_id) : wire::ArenaText{};
  if (entry.length == 0) return {};
  // Copied before it is read: the process can change it meanwhile.
  const std::string copy(entry.text, entry.length);
  return clean_text(copy);
}

const Name& Names::read(uint32_t arena_id) {
  const std::string text = demangled(this->text(arena_id));  // names of kernels
  if (text.empty()) {
    ++bad_ids_;
    return known_.at(0);  // not remembered: bad ids must not fill the memory
  }
  if (known_.size() >= kMost) {
    ++refused_;
    other_.id = output_.intern(kOtherNames);
    return other_;
  }
  const Name name{output_.intern(text), schema::marker_of(text), function_of_range(text)};
  return known_.emplace(arena_id, name).first->second;
}

schema::Function function_of_range(std::string_view name) {
  using schema::Function;
  constexpr std::string_view kPrefix = "gloo:";
  if (!name.starts_with(kPrefix)) return Function::kUnknown;
  name.remove_prefix(kPrefix.size());
  constexpr std::pair<std::string_view, Function> kFunctions[] = {
      {"all_reduce", Function::kAllReduce},
      {"sparse_all_reduce", Function::kAllReduce},
      {"reduce_scatter", Function::kReduceScatter},
      {"all_gather", Function::kAllGather},
      {"broadcast", Function::kBroadcast},
      {"reduce", Function::kReduce},
      {"gather", Function::kGather},
      {"scatter", Function::kScatter},
      {"all_to_all", Function::kAllToAll},
      {"barrier", Function::kBarrier},
      {"send", Function::kSend},
      {"recv", Function::kRecv},
      {"recvAnySource", Function::kRecv},
  };
  for (const auto& [word, function] : kFunctions) {
    if (name == word) return function;
  }
  return Function::kUnknown;
}

}  // namespace dprof::recorder
