// SPDX-License-Identifier: Apache-2.0
// A file that several ranks' recordings were put into: each rank becomes a trace of its own.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/import/kineto/document.h"
#include "analyzer/import/kineto/importer.h"
#include "analyzer/import/sink/file_sink.h"

namespace dprof::analyzer::kineto {

// Hands each event to the importer of its rank, by its process (`pid`). What the file says of
// itself goes to all of them; events of processes without a rank are counted with the first one.
class Splitter final : public DocumentHandler {
 public:
  // `rank_of_process` by the text of `pid`, as the names of the processes told it.
  static Result<std::unique_ptr<Splitter>> make(FileSink& run, const Input& input,
                                                std::map<std::string, int> rank_of_process);

  void event(const Event& event) override;
  void bad_element(BadElement why) override;
  void member(std::string_view key, const Value& value) override;
  bool go_on() override;

  // After the document. Fails as the sinks do.
  Status finish();

 private:
  struct Part {
    TraceSink* sink;
    std::shared_ptr<Importer> importer;
  };
  Splitter() = default;

  std::map<std::string, size_t, std::less<>> part_of_process_;
  std::vector<Part> parts_;  // by rank
};

}  // namespace dprof::analyzer::kineto
