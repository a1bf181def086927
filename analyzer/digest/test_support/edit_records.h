// SPDX-License-Identifier: Apache-2.0
// For tests: changes a rank's calls.
#pragma once

#include <utility>
#include <vector>

#include "analyzer/digest/collective_records.h"

namespace dprof::analyzer {

inline std::vector<CollectiveRecord> list_of(const CollectiveRecords& records) {
  std::vector<CollectiveRecord> list;
  for (const CollectiveRecord& record : records) list.push_back(record);
  return list;
}

inline CollectiveRecords::Edited edit_last(CollectiveRecords& records) {
  return records.edit(records.size() - 1);
}

inline void erase_record(CollectiveRecords& records, size_t at) {
  std::vector<CollectiveRecord> list = list_of(records);
  list.erase(list.begin() + static_cast<ptrdiff_t>(at));
  records = list;
}

}  // namespace dprof::analyzer
