// SPDX-License-Identifier: Apache-2.0
// The limit of open files. A recorded process costs the recorder up to eight (its socket, pidfd,
// memory, trace with journal, and the pipes of its output), and a usual soft limit is 1024.
//
// Threading  one thread; the limit is the process's.
#pragma once

#include <sys/resource.h>

#include <optional>

namespace dprof::recorder {

// Raises the soft limit to the hard one for the lifetime of this object.
class RaisedFileLimit {
 public:
  RaisedFileLimit();
  ~RaisedFileLimit();
  RaisedFileLimit(const RaisedFileLimit&) = delete;
  RaisedFileLimit& operator=(const RaisedFileLimit&) = delete;
};

// Used while starting a child, which inherits the original limit. Open files stay open.
class FirstFileLimit {
 public:
  FirstFileLimit();
  ~FirstFileLimit();
  FirstFileLimit(const FirstFileLimit&) = delete;
  FirstFileLimit& operator=(const FirstFileLimit&) = delete;

 private:
  std::optional<rlim_t> raised_;
};

}  // namespace dprof::recorder
