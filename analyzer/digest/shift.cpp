// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/shift.h"

#include <ranges>
#include <string>
#include <tuple>
#include <type_traits>

#include "base/compact_optional.h"
#include "base/fields.h"

namespace dprof::analyzer {
namespace {

// Special values ("never", "before the recording", "unknown") are far beyond any real time, and are
// not shifted.
constexpr int64_t kFarthestNs = int64_t{1} << 62;
// The limit that clock evidence requires (clock_evidence.cpp).
constexpr int64_t kFarthestShiftNs = int64_t{1} << 59;

template <typename T>
inline constexpr bool kIsSmallEnum = false;
template <typename Enum>
inline constexpr bool kIsSmallEnum<SmallEnum<Enum>> = true;

template <typename T>
concept Timeless = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string> ||
    std::is_same_v<T, LogHistogram> || kIsSmallEnum<T>;
template <typename T>
concept Optional = requires(T value) {
  value.has_value();
  *value;
};
template <typename T>
concept Pair = requires {
  std::tuple_size<T>::value;
};

// Visits a value with all its parts. A class that hides its fields does not compile.
class Shift {
 public:
  explicit Shift(int64_t ns) : ns_(ns) {}

  template <typename T>
  void operator()(T& value) const {
    if constexpr (std::is_same_v<T, TraceNs>) {
      if (value.ns > -kFarthestNs && value.ns < kFarthestNs) value.ns += ns_;
    } else if constexpr (Timeless<T>) {
    } else if constexpr (Optional<T>) {
      if (!value) return;
      auto inside = *std::move(value);
      (*this)(inside);
      value = std::move(inside);
    } else if constexpr (std::is_same_v<T, CollectiveRecords>) {
      value.edit_all([&](CollectiveOccurrence& call) { (*this)(call); });
    } else if constexpr (std::ranges::range<T>) {
      for (auto& one : value) (*this)(one);
    } else if constexpr (Pair<T>) {
      std::apply([&](auto&... parts) { ((*this)(parts), ...); }, value);
    } else {
      for_each_field(value, *this);
    }
  }

 private:
  int64_t ns_;
};

}  // namespace

void shift_times(RankDigest& digest, int64_t shift_ns) {
  if (shift_ns == 0) return;
  const Interval no_span{};
  const bool saw_nothing = digest.span == no_span;
  if (shift_ns <= -kFarthestShiftNs || shift_ns >= kFarthestShiftNs) {
    ClockEvidence& clock = digest.clock;
    clock.damaged += static_cast<int64_t>(clock.probes.size());
    clock.origin_raw_ns.reset();
    clock.peers = {};
    clock.probes = {};
    clock.samples = {};
    clock.devices = {};
  }
  const Shift shift(shift_ns);
  shift(digest);
  if (digest.clock.origin_raw_ns) *digest.clock.origin_raw_ns -= shift_ns;
  if (saw_nothing) digest.span = no_span;
}

}  // namespace dprof::analyzer
