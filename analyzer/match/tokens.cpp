// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/tokens.h"

#include <fmt/format.h>

namespace dprof::analyzer {
namespace {

using schema::CollectiveState;
using schema::Function;

// Members must give the same number of bytes.
bool has_equal_bytes(Function function) {
  return function == Function::kAllReduce || function == Function::kBroadcast ||
         function == Function::kReduce || function == Function::kReduceScatter ||
         function == Function::kGather;
}

bool has_root(Function function) {
  return function == Function::kBroadcast || function == Function::kReduce ||
         function == Function::kGather || function == Function::kScatter;
}

bool reduces(Function function) {
  return function == Function::kAllReduce || function == Function::kReduce ||
         function == Function::kReduceScatter;
}

// Both are known (0 in an enum means unknown) and differ.
template <typename T>
bool differ(T a, T b) {
  return a != T{} && b != T{} && a != b;
}

// An all-gather of unequal parts can be intentional (the parts are then sent one by one), but not
// in one that hangs.
bool bytes_differ(const CollectiveRecord& a, const CollectiveRecord& b) {
  if (!differ(a.bytes, b.bytes)) return false;
  if (a.function == Function::kAllGather) return !is_finished(a) || !is_finished(b);
  return has_equal_bytes(a.function);
}

}  // namespace

bool is_point_to_point(Function function) {
  return function == Function::kSend || function == Function::kRecv;
}

bool is_finished(const CollectiveRecord& record) {
  return (record.start && record.end) || record.state == CollectiveState::kComplete ||
         record.state == CollectiveState::kUnobserved;
}

bool in_conflict(const CollectiveRecord& a, const CollectiveRecord& b) {
  if (a.function == Function::kUnknown || b.function == Function::kUnknown) return false;
  if (a.function != b.function) return true;
  if (a.function == Function::kBarrier) return false;
  return differ(a.dtype, b.dtype) || bytes_differ(a, b) ||
         (has_root(a.function) && differ(a.root, b.root)) ||
         (reduces(a.function) && differ(a.reduction, b.reduction));
}

uint64_t token_of(const CollectiveRecord& record) {
  uint64_t token = static_cast<uint64_t>(record.function) + 1;
  const auto add = [&](uint64_t value) {
    token = (token ^ value) * 0x9e3779b97f4a7c15ULL;
    token ^= token >> 32U;
  };
  add(has_equal_bytes(record.function) && record.bytes ? static_cast<uint64_t>(*record.bytes) + 1
                                                       : 0);
  add(has_root(record.function) && record.root ? static_cast<uint64_t>(*record.root) + 1 : 0);
  return token;
}

std::string words_of(const CollectiveRecord& record) {
  std::string words(word_of(record.function));
  if (record.bytes && record.function != Function::kBarrier)
    words += fmt::format(" {} B", *record.bytes);
  if (record.dtype != schema::DataType::kUnknown && record.function != Function::kBarrier)
    words += fmt::format(" {}", word_of(record.dtype));
  if (record.root && has_root(record.function)) words += fmt::format(" root {}", *record.root);
  return words;
}

}  // namespace dprof::analyzer
