// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/common/open_files.h"

#include <utility>

namespace dprof::recorder {
namespace {

std::optional<rlim_t> first_soft_limit;  // set once raised

// Returns the previous limit.
std::optional<rlim_t> set_soft_limit(rlim_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::nullopt;
  const rlim_t before =
      std::exchange(limit.rlim_cur, wanted < limit.rlim_max ? wanted : limit.rlim_max);
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return std::nullopt;
  return before;
}

}  // namespace

RaisedFileLimit::RaisedFileLimit() { first_soft_limit = set_soft_limit(RLIM_INFINITY); }

RaisedFileLimit::~RaisedFileLimit() {
  if (first_soft_limit) set_soft_limit(*first_soft_limit);
  first_soft_limit.reset();
}

FirstFileLimit::FirstFileLimit() {
  if (first_soft_limit) raised_ = set_soft_limit(*first_soft_limit);
}

FirstFileLimit::~FirstFileLimit() {
  if (raised_) set_soft_limit(*raised_);
}

}  // namespace dprof::recorder
