// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/operation_table/layout.h"

#include <algorithm>

#include "analyzer/import/kineto/decimal.h"

namespace dprof::analyzer::operation_table {
namespace {

using kineto::Arg;
using kineto::Field;

std::optional<int64_t> number(const kineto::Value& value) {
  if (!value.scalar()) return std::nullopt;
  const std::optional<int64_t> whole = kineto::whole_number(value.raw);
  if (!whole || *whole < 0 || *whole >= Layout::kMostRanks) return std::nullopt;
  return whole;
}

std::optional<std::pair<int64_t, int64_t>> thread_of(const kineto::Event& event) {
  const kineto::Value tid = event[Field::kTid];
  const std::optional<int64_t> process = number(event[Field::kPid]);
  const std::optional<int64_t> thread =
      tid.scalar() ? kineto::whole_number(tid.raw) : std::optional<int64_t>();
  if (!process || !thread) return std::nullopt;
  return std::pair(*process, *thread);
}

// The number after `label`, with which `text` begins; removes both.
std::optional<int64_t> labelled(std::string_view& text, std::string_view label) {
  if (!text.starts_with(label)) return std::nullopt;
  text.remove_prefix(label.size());
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::optional<int64_t> value = kineto::whole_number(text.substr(0, digits));
  text.remove_prefix(digits);
  if (!value || *value >= Layout::kMostRanks) return std::nullopt;
  return value;
}

}  // namespace

std::optional<ThreadName> thread_name_of(std::string_view text) {
  const std::optional<int64_t> stage = labelled(text, "PP rank ");
  if (!stage) return std::nullopt;
  const std::optional<int64_t> tensor = labelled(text, ", TP rank ");
  if (!tensor) return std::nullopt;
  return ThreadName{*stage, *tensor};
}

void Layout::learn(const kineto::Event& event) {
  if (const std::optional<int64_t> chunk = number(event[Arg::kModelChunk]))
    chunks_ = std::max(chunks_, *chunk + 1);
  if (event[Field::kPh].raw != "M" || event[Field::kName].raw != "thread_name") return;
  const auto thread = thread_of(event);
  const std::optional<ThreadName> name = thread_name_of(event[Arg::kName].raw);
  if (!thread || !name) return;
  threads_[*thread] = {thread->first, name->stage, name->tensor};
  data_ = std::max(data_, thread->first + 1);
  stages_ = std::max(stages_, name->stage + 1);
  tensor_ = std::max(tensor_, name->tensor + 1);
}

std::optional<Place> Layout::place_of(const kineto::Event& event) const {
  const auto thread = thread_of(event);
  const auto known = thread ? threads_.find(*thread) : threads_.end();
  return known == threads_.end() ? std::nullopt : std::optional(known->second);
}

int Layout::rank_of(const Place& place) const {
  return static_cast<int>((place.stage * data_ + place.data) * tensor_ + place.tensor);
}

std::vector<int> Layout::members(const Place& place, With with) const {
  std::vector<int> ranks;
  Place other = place;
  switch (with) {
    case With::kNobody:
      break;
    case With::kNext:
    case With::kPrevious:
      for (other.stage = 0; other.stage < stages_; ++other.stage) ranks.push_back(rank_of(other));
      break;
    case With::kReplicas:
      for (other.data = 0; other.data < data_; ++other.data) ranks.push_back(rank_of(other));
      break;
    case With::kTensor:
      for (other.tensor = 0; other.tensor < tensor_; ++other.tensor)
        ranks.push_back(rank_of(other));
      break;
    case With::kEmbedding:
      for (other.stage = 0; other.stage < stages_; other.stage += std::max<int64_t>(1, stages_ - 1))
        ranks.push_back(rank_of(other));
      break;
    case With::kWorld:
      for (int64_t rank = 0; rank < world(); ++rank) ranks.push_back(static_cast<int>(rank));
      break;
  }
  return ranks;
}

std::optional<int64_t> Layout::neighbour(const Place& place, With with) const {
  const int64_t stage = with == With::kNext ? place.stage + 1 : place.stage - 1;
  if (stage >= 0 && stage < stages_) return stage;
  if (chunks_ < 2 || stages_ < 2) return std::nullopt;
  return (stage + stages_) % stages_;
}

}  // namespace dprof::analyzer::operation_table
