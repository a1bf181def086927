// SPDX-License-Identifier: Apache-2.0
// Stacks of ranges and device activities, for flame graphs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analyzer/export/out_file.h"
#include "analyzer/export/rank_source.h"

namespace dprof::analyzer {

// Visits the nested slices on each thread and stream of one rank. A slice that extends beyond its
// enclosing slice is cut at that slice's end, and counted.
//
// begin_track(name); open(name, at_ns) and close(at_ns) in order of time; end_track().
class FlameVisitor {
 public:
  virtual ~FlameVisitor() = default;
  virtual void begin_track(const std::string& name) = 0;
  virtual void open(const std::string& name, int64_t at_ns) = 0;
  virtual void close(int64_t at_ns) = 0;
  virtual void end_track() = 0;
};
Status visit_stacks(const RankSource& source, FlameVisitor& visitor, ExportJob& job);

// https://www.speedscope.app: one profile per thread and stream, with all times.
class SpeedscopeExport final : private FlameVisitor {
 public:
  SpeedscopeExport(OutFile& out, const std::string& run);
  Status rank(const RankSource& source, ExportJob& job);
  void finish();  // writes the names, which come last

 private:
  void begin_track(const std::string& name) override;
  void open(const std::string& name, int64_t at_ns) override;
  void close(int64_t at_ns) override;
  void end_track() override;
  void event(char type, int64_t at_ns, size_t frame);

  OutFile& out_;
  std::string run_;
  std::string rank_;
  std::string text_;
  bool is_first_profile_ = true;
  std::map<std::string, size_t, std::less<>> frames_;
  std::vector<const std::string*> names_;  // by number
  // Of the profile being written.
  std::string track_;
  bool has_events_ = false;
  int64_t first_ns_ = 0;
  int64_t last_ns_ = 0;
  std::vector<size_t> open_;
};

// "rank 0;main 17;forward;aten::mm 1200": the self time of a stack, in ns.
class FoldedExport final : private FlameVisitor {
 public:
  Status rank(const RankSource& source, ExportJob& job);
  void write(OutFile& out) const;

 private:
  void begin_track(const std::string& name) override;
  void open(const std::string& name, int64_t at_ns) override;
  void close(int64_t at_ns) override;
  void end_track() override {}

  std::string rank_;
  std::map<std::string, int64_t, std::less<>> self_ns_;  // by stack
  std::string stack_;
  std::vector<size_t> lengths_;  // length of stack_ before each open frame
  int64_t since_ns_ = 0;
};

}  // namespace dprof::analyzer
