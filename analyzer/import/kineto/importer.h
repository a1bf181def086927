// SPDX-License-Identifier: Apache-2.0
// Turns the events of one file into rows of one trace.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/import/kineto/collectives.h"
#include "analyzer/import/kineto/document.h"
#include "analyzer/import/kineto/file_facts.h"
#include "analyzer/import/kineto/pairs.h"
#include "analyzer/import/kineto/threads.h"
#include "analyzer/import/kineto/words.h"
#include "analyzer/import/sink/file_sink.h"

namespace dprof::analyzer::kineto {

class Importer final : public DocumentHandler, public SecondLook {
 public:
  Importer(FileSink& run, TraceSink& sink, const Input& input)
      : run_(run), sink_(sink), input_(input), collectives_(sink), threads_(sink), pairs_(sink) {}

  void event(const Event& event) override;
  void bad_element(BadElement why) override;
  void member(std::string_view key, const Value& value) override;
  bool go_on() override;

  // After the document: processes data that is complete only at its end.
  void finish();
  void range(const schema::HostRangeRow& row) override;
  void all_seen() override;
  [[nodiscard]] int64_t broken() const { return broken_; }  // elements that are invalid JSON
  // By the names of its processes, if they belong to several ranks; else empty.
  [[nodiscard]] const std::map<std::string, int>& ranks_of_processes() const {
    return facts_.ranks_of_processes();
  }
  // The events belong to one of several ranks in the file.
  void be_rank(int rank) { facts_.be_rank(rank); }

 private:
  struct Span {
    int64_t start = 0;
    int64_t duration = 0;
  };

  void complete(const Event& event);
  void instant(const Event& event);
  void metadata(const Event& event);
  void flow(const Event& event);
  void host_range(const Event& event, const Span& span, Topic topic);
  void gpu_row(const Event& event, const Span& span, Topic topic);
  void sync_row(const Event& event, const schema::GpuActivityRow& row);
  void memory(const Event& event, int64_t time, bool out_of_memory);
  void step(std::string_view name, const Span& span);

  std::optional<int64_t> time(const Event& event);
  std::string_view name(const Event& event);
  schema::RangeCategory category(const Event& event, Topic topic, std::string_view name) const;

  FileSink& run_;
  TraceSink& sink_;
  const Input& input_;
  Collectives collectives_;
  Threads threads_;
  Pairs pairs_;
  FileFacts facts_;
  std::string name_;  // scratch, for a name with escapes
  int decimals_ = 0;  // most decimals of a time
  int64_t latest_ = 0;
  bool has_kineto_rows_ = false;
  int64_t broken_ = 0;
  std::unordered_map<int64_t, bool> communicates_;  // by the text id of a kernel's name
};

}  // namespace dprof::analyzer::kineto
