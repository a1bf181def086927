// SPDX-License-Identifier: Apache-2.0
// The coordinates of an operation table's ranks: data-parallel rank, stage, tensor-parallel rank.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/import/kineto/event.h"
#include "analyzer/import/operation_table/operations.h"

namespace dprof::analyzer::operation_table {

struct Place {
  int64_t data = 0;
  int64_t stage = 0;
  int64_t tensor = 0;
  auto operator<=>(const Place&) const = default;
};

// "PP rank 3, TP rank 0, pp-comm". nullopt = another text.
struct ThreadName {
  int64_t stage = 0;
  int64_t tensor = 0;
};
[[nodiscard]] std::optional<ThreadName> thread_name_of(std::string_view text);

// Filled from the file's names, then queried. Numbers beyond kMostRanks are not ranks.
class Layout {
 public:
  static constexpr int64_t kMostRanks = 1 << 16;

  // Learns threads and model chunks from a row of the file.
  void learn(const kineto::Event& event);

  // The rank of a row; nullopt = its thread has no such name.
  [[nodiscard]] std::optional<Place> place_of(const kineto::Event& event) const;
  [[nodiscard]] bool empty() const { return threads_.empty(); }
  [[nodiscard]] int64_t data() const { return data_; }
  [[nodiscard]] int64_t stages() const { return stages_; }
  [[nodiscard]] int64_t tensor() const { return tensor_; }
  [[nodiscard]] int64_t world() const { return data_ * stages_ * tensor_; }
  [[nodiscard]] bool fits() const { return world() <= kMostRanks; }

  // Tensor-parallel ranks are adjacent, then data-parallel ones, then stages: Megatron's order.
  [[nodiscard]] int rank_of(const Place& place) const;
  // The members of the group in which a rank performs such an operation; kNext and kPrevious: the
  // pipeline.
  [[nodiscard]] std::vector<int> members(const Place& place, With with) const;
  // The stage that a message goes to or comes from; nullopt = none. With several model chunks the
  // last stage's neighbour is the first.
  [[nodiscard]] std::optional<int64_t> neighbour(const Place& place, With with) const;

 private:
  std::map<std::pair<int64_t, int64_t>, Place> threads_;  // by process and thread
  int64_t data_ = 0;
  int64_t stages_ = 0;
  int64_t tensor_ = 0;
  int64_t chunks_ = 1;
};

}  // namespace dprof::analyzer::operation_table
