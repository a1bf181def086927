// SPDX-License-Identifier: Apache-2.0
// Process groups, from the events of a file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/import/kineto/event.h"
#include "analyzer/import/sink/trace_sink.h"

namespace dprof::analyzer::kineto {

// One event's data about its group; any part can be missing.
struct GroupFields {
  std::string name;
  std::string ranks;  // "[0, 1]", or truncated as "[0, 1, 2, ..., 63]"
  std::optional<int64_t> size, start, stride;

  friend auto operator<=>(const GroupFields&, const GroupFields&) = default;
};

GroupFields group_fields_of(const Event& event);

// "[0, 1]": {0, 1}; nullopt if truncated or something else.
std::optional<std::vector<int>> rank_list(std::string_view text);

// A group's hash must be the same in the files of all ranks: it is made from name, members and back
// end.
class Groups {
 public:
  // From the file's list of its groups.
  void know(std::string name, std::vector<int> members) {
    members_[std::move(name)] = std::move(members);
  }

  // Number of a group, for communicator(). Few distinct ones; the last one is cached.
  size_t number(GroupFields fields);
  // True if nothing is known about it.
  [[nodiscard]] bool is_unknown(size_t number) const { return groups_[number] == GroupFields{}; }

  // The communicator of a group and a back end, created on first use.
  int64_t communicator(TraceSink& sink, size_t number, schema::Backend backend,
                       std::optional<int> own_rank);
  // Members of a group, in order; empty = unknown.
  [[nodiscard]] std::vector<int> members(size_t number) const;

 private:
  std::vector<GroupFields> groups_;
  std::map<GroupFields, size_t> numbers_;
  std::map<std::string, std::vector<int>> members_;
  std::map<std::pair<size_t, schema::Backend>, int64_t> communicators_;
};

}  // namespace dprof::analyzer::kineto
