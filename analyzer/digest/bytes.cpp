// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/bytes.h"

#include <cereal/archives/binary.hpp>
#include <cereal/types/array.hpp>
#include <cereal/types/optional.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/utility.hpp>
#include <cereal/types/vector.hpp>
#include <cstring>
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

// A list whose elements are their bytes goes as a whole.
template <typename T>
concept FlatList = requires(T list) {
  typename T::value_type;
  list.data();
  list.resize(size_t{1});
}
&&std::is_class_v<typename T::value_type>&&
    std::has_unique_object_representations_v<typename T::value_type>;

template <typename Archive, typename T>
void archive_part(Archive& archive, T& part) {
  if constexpr (FlatList<T>) {
    auto size = static_cast<cereal::size_type>(part.size());
    archive(cereal::make_size_tag(size));
    part.resize(size);
    archive(cereal::binary_data(part.data(), part.size() * sizeof(typename T::value_type)));
  } else {
    archive(part);
  }
}

template <typename Archive, Fields T>
void serialize(Archive& archive, T& value) {
  for_each_field(value, [&](auto& field) { archive_part(archive, field); });
}

template <typename Archive>
void serialize(Archive& archive, analyzer::CollectiveRecords& records) {
  records.for_each_list([&](auto& list) { archive_part(archive, list); });
}

namespace analyzer {
// NOLINTNEXTLINE(misc-unused-using-decls): found by the arguments' namespace
using dprof::serialize;
}  // namespace analyzer

}  // namespace dprof

namespace dprof::analyzer {
namespace {

// Reads what cereal's binary archive wrote, in place: its own reader asks a stream for each number.
class BytesInput : public cereal::InputArchive<BytesInput, cereal::AllowEmptyClassElision> {
 public:
  explicit BytesInput(std::string_view bytes) : InputArchive(this), rest_(bytes) {}

  void take(void* data, size_t size) {
    too_short_ = too_short_ || size > rest_.size();
    if (too_short_) {
      std::memset(data, 0, size);  // no further lists
      return;
    }
    std::memcpy(data, rest_.data(), size);
    rest_.remove_prefix(size);
  }

  [[nodiscard]] bool too_short() const { return too_short_; }

 private:
  std::string_view rest_;
  bool too_short_ = false;
};

template <typename T>
std::enable_if_t<std::is_arithmetic_v<T>> load(BytesInput& archive, T& number) {
  archive.take(&number, sizeof number);
}

template <typename T>
void load(BytesInput& archive, cereal::BinaryData<T>& data) {
  archive.take(data.data, data.size);
}

template <typename T>
void serialize(BytesInput& archive, cereal::SizeTag<T>& tag) {
  archive(tag.size);
}

template <typename T>
void serialize(BytesInput& archive, cereal::NameValuePair<T>& named) {
  archive(named.value);
}

}  // namespace
}  // namespace dprof::analyzer

template <>
struct cereal::traits::detail::get_output_from_input<dprof::analyzer::BytesInput> {
  using type = BinaryOutputArchive;
};

namespace dprof::analyzer {

constexpr std::string_view kDigestFingerprint = DPROF_DIGEST_FINGERPRINT;

std::string bytes_of(const RankDigest& digest) {
  std::ostringstream stream;
  cereal::BinaryOutputArchive archive(stream);
  archive(digest);
  return std::move(stream).str();
}

std::optional<RankDigest> digest_of(std::string_view bytes) try {
  BytesInput archive(bytes);
  RankDigest digest;
  archive(digest);
  return archive.too_short() ? std::nullopt : std::optional(std::move(digest));
} catch (const std::exception&) {
  return std::nullopt;
}

}  // namespace dprof::analyzer
