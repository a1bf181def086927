// SPDX-License-Identifier: Apache-2.0
// How a digest is written to a file and read back (cereal): every field of every struct in it, so
// that none can be forgotten. Private to cache.cpp.
#pragma once

#include <cereal/types/array.hpp>
#include <cereal/types/optional.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/utility.hpp>
#include <cereal/types/vector.hpp>
#include <type_traits>

#include "analyzer/digest/digest.h"
#include "base/fields.h"

namespace dprof {

template <typename Archive>
void save(Archive& archive, const LogHistogram& h) {
  archive(h.first(), std::vector<uint32_t>(h.counts().begin(), h.counts().end()));
}
template <typename Archive>
void load(Archive& archive, LogHistogram& h) {
  size_t first = 0;
  std::vector<uint32_t> counts;
  archive(first, counts);
  h = LogHistogram(first, std::move(counts));
}

template <typename T>
concept Fields = std::is_aggregate_v<T> && !requires {
  std::tuple_size<T>::value;
};  // no array

template <typename Archive, Fields T>
void serialize(Archive& archive, T& value) {
  for_each_field(value, [&](auto& field) { archive(field); });
}

namespace analyzer {
using dprof::serialize;  // found by the arguments' namespace
}

}  // namespace dprof
