// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/bytes.h"

#include <cereal/archives/binary.hpp>
#include <cereal/types/array.hpp>
#include <cereal/types/optional.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/utility.hpp>
#include <cereal/types/vector.hpp>
#include <sstream>
#include <type_traits>

#include "analyzer/digest/digest_fingerprint.h"
#include "base/fields.h"

// Writes and reads a digest (cereal): every field of every struct in it, so that none can be
// forgotten.
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

namespace dprof::analyzer {

constexpr std::string_view kDigestFingerprint = DPROF_DIGEST_FINGERPRINT;

std::string bytes_of(const RankDigest& digest) {
  std::ostringstream stream;
  cereal::BinaryOutputArchive archive(stream);
  archive(digest);
  return std::move(stream).str();
}

std::optional<RankDigest> digest_of(std::string bytes) try {
  std::istringstream stream(std::move(bytes));
  cereal::BinaryInputArchive archive(stream);
  RankDigest digest;
  archive(digest);
  return digest;
} catch (const std::exception&) {
  return std::nullopt;
}

}  // namespace dprof::analyzer
