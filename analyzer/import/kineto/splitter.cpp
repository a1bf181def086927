// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/kineto/splitter.h"

#include "analyzer/import/kineto/skips.h"

namespace dprof::analyzer::kineto {

Result<std::unique_ptr<Splitter>> Splitter::make(FileSink& run, const Input& input,
                                                 std::map<std::string, int> rank_of_process) {
  std::unique_ptr<Splitter> splitter(new Splitter);
  std::map<int, size_t> part_of_rank;
  for (const auto& [process, rank] : rank_of_process) part_of_rank[rank] = 0;
  for (auto& [rank, part] : part_of_rank) {
    part = splitter->parts_.size();
    const Result<TraceSink*> sink = run.open_trace();
    if (!sink.ok()) return fail(sink.error());
    auto importer = std::make_shared<Importer>(run, **sink, input);
    importer->be_rank(rank);
    splitter->parts_.push_back({*sink, std::move(importer)});
  }
  for (auto& [process, rank] : rank_of_process)
    splitter->part_of_process_[process] = part_of_rank[rank];
  return splitter;
}

void Splitter::event(const Event& event) {
  const auto part = part_of_process_.find(event[Field::kPid].raw);
  if (part == part_of_process_.end()) return parts_.front().sink->skip(kOfNoRank);
  parts_[part->second].importer->event(event);
}

void Splitter::bad_element(BadElement why) { parts_.front().importer->bad_element(why); }

void Splitter::member(std::string_view key, const Value& value) {
  for (const Part& part : parts_) part.importer->member(key, value);
}

bool Splitter::go_on() {
  bool wanted = true;
  for (const Part& part : parts_) wanted = part.importer->go_on() && wanted;
  return wanted;
}

Status Splitter::finish() {
  for (const Part& part : parts_) {
    part.importer->finish();
    part.sink->set_second_look(part.importer);
    if (Status good = part.sink->status(); !good.ok()) return good;
  }
  return Done{};
}

}  // namespace dprof::analyzer::kineto
