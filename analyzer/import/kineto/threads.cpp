// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/kineto/threads.h"

#include "analyzer/import/kineto/decimal.h"
#include "analyzer/import/kineto/skips.h"

namespace dprof::analyzer::kineto {

// "PID\nTID", as written: "7" and 7 are the same thread.
const std::string& Threads::key_of(const Event& event) {
  Value pid = event[Field::kPid];
  Value tid = event[Field::kTid];
  if (!pid.scalar()) pid = tid;
  if (!tid.scalar()) tid = pid;
  key_.assign(pid.raw);
  key_ += '\n';
  key_ += tid.raw;
  return key_;
}

int64_t Threads::of(const Event& event) {
  const std::string& key = key_of(event);
  if (last_ >= 0 && key == last_key_) return last_;
  last_key_ = key;
  if (const auto known = ids_.find(key); known != ids_.end()) return last_ = known->second;
  const size_t split = key.find('\n');
  const std::string_view pid = std::string_view(key).substr(0, split);
  const std::string_view tid = std::string_view(key).substr(split + 1);
  schema::ThreadRow row{.os_tid = -1};
  if (const std::optional<int64_t> number = whole_number(tid)) {
    row.os_tid = *number;
  } else if (!tid.empty()) {
    row.name_id = sink_.text(unescape(tid));
  }
  main_.push_back(!tid.empty() && tid == pid && row.os_tid != 0);
  last_ = sink_.add_thread(row);
  ids_.emplace(key, last_);
  return last_;
}

void Threads::set_role(int64_t thread, schema::ThreadRole role) {
  sink_.thread(thread).role = role;
}

void Threads::name(const Event& event, std::string name) {
  const auto [entry, is_new] = names_.try_emplace(key_of(event));
  entry->second = std::move(name);
  if (!is_new) sink_.skip(kDisplayHints);
}

int64_t Threads::finish() {
  int64_t unused = 0;
  for (const auto& [key, name] : names_) {
    const auto known = ids_.find(key);
    if (known == ids_.end()) {
      ++unused;
      continue;
    }
    sink_.thread(known->second).name_id = sink_.text(name);
  }
  for (size_t i = 0; i < main_.size(); ++i) {
    if (main_[i]) sink_.thread(static_cast<int64_t>(i)).role = schema::ThreadRole::kMain;
  }
  return unused;
}

}  // namespace dprof::analyzer::kineto
