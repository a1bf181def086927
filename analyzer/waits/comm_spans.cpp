// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "analyzer/waits/waits.h"

namespace dprof::analyzer {
namespace {

using SpanKind = std::tuple<size_t, schema::Function, std::optional<int64_t>>;

SpanKind kind_of(const CollectiveRecord& record) {
  return {record.communicator, record.function, record.bytes};
}

class Spans {
 public:
  Spans(std::span<const RankDigest> digests, const Matching& matching, size_t digest)
      : rank_(digests[digest]), matching_(matching), digest_(digest) {}

  std::vector<CommSpan> run() {
    find_best_transfers();
    std::vector<CommSpan> spans;
    spans.reserve(rank_.collectives.size());
    for (size_t i = 0; i < rank_.collectives.size(); ++i) {
      const CollectiveRecord& record = rank_.collectives[i];
      if (!record.start) continue;
      if (record.end) {
        spans.push_back({{*record.start, *record.end}, arrival_of_all(i), i});
      } else {
        spans.push_back({{*record.start, rank_.span.end}, {INT64_MAX}, i});
      }
    }
    std::ranges::sort(spans, {}, [](const CommSpan& s) { return s.span.begin; });
    return spans;
  }

 private:
  [[nodiscard]] const Instance* comparable(size_t record) const {
    const size_t instance = matching_.instance_of[digest_][record];
    if (instance == kNoInstance || !matching_.instances[instance].comparable) return nullptr;
    return &matching_.instances[instance];
  }

  void find_best_transfers() {
    for (size_t i = 0; i < rank_.collectives.size(); ++i) {
      const CollectiveRecord& record = rank_.collectives[i];
      if (!record.start || !record.end) continue;
      const Instance* instance = comparable(i);
      const int64_t transfer =
          instance != nullptr ? instance->transfer_ns : (*record.end - *record.start).ns;
      const auto [entry, is_new] = best_.try_emplace(kind_of(record), transfer);
      entry->second = std::min(entry->second, transfer);
    }
  }

  [[nodiscard]] TraceNs arrival_of_all(size_t i) const {
    const CollectiveRecord& record = rank_.collectives[i];
    if (const Instance* instance = comparable(i)) {
      const auto own = std::ranges::lower_bound(instance->members, digest_, {}, &Member::digest);
      if (own != instance->members.end() && own->digest == digest_ && own->record == i)
        return *record.start + DurationNs{own->wait_ns};
    }
    if (const size_t m = matching_.message_at(digest_, i); m != kNoInstance) {
      const Message& message = matching_.messages[m];
      const Member& own =
          record.function == schema::Function::kSend ? *message.send : *message.receive;
      if (message.transfer_ns) return *record.start + DurationNs{own.wait_ns};
    }
    return std::max(*record.start, *record.end + DurationNs{-best_.at(kind_of(record))});
  }

  const RankDigest& rank_;
  const Matching& matching_;
  size_t digest_;
  std::map<SpanKind, int64_t> best_;
};

}  // namespace

std::vector<CommSpan> comm_spans(std::span<const RankDigest> digests, const Matching& matching,
                                 size_t digest) {
  return Spans(digests, matching, digest).run();
}

}  // namespace dprof::analyzer
