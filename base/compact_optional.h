// SPDX-License-Identifier: Apache-2.0
// std::optional and 64-bit enums stored in as few bytes as their values need, for structs that
// exist in millions.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include "base/time.h"

namespace dprof {

template <typename T>
struct NoValue {  // the value that represents nullopt
  static constexpr T kValue = std::numeric_limits<T>::min();
};
template <typename Tag>
struct NoValue<Moment<Tag>> {
  static constexpr Moment<Tag> kValue{std::numeric_limits<int64_t>::min()};
};

// Like std::optional<T>, but as small as a Stored: its smallest value means none, and so does any
// value that a Stored cannot hold (no rank, bucket or moment of a real run).
template <typename T, typename Stored = T>
class CompactOptional {
 public:
  using value_type = T;

  constexpr CompactOptional() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): as std::optional
  constexpr CompactOptional(std::nullopt_t) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr CompactOptional(T value) : stored_(static_cast<Stored>(value)) {
    if constexpr (!std::is_same_v<T, Stored>) {
      if (static_cast<T>(stored_) != value) stored_ = kNone;
    }
  }
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr CompactOptional(const std::optional<T>& value) {
    if (value) *this = CompactOptional(*value);
  }
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr operator std::optional<T>() const {
    return has_value() ? std::optional(**this) : std::nullopt;
  }

  [[nodiscard]] constexpr bool has_value() const { return stored_ != kNone; }
  [[nodiscard]] constexpr explicit operator bool() const { return has_value(); }
  [[nodiscard]] constexpr T operator*() const { return static_cast<T>(stored_); }
  [[nodiscard]] constexpr const T* operator->() const requires std::is_same_v<T, Stored> {
    return &stored_;
  }
  [[nodiscard]] constexpr T value_or(T other) const { return has_value() ? **this : other; }
  constexpr void reset() { stored_ = kNone; }

  friend constexpr auto operator<=>(CompactOptional, CompactOptional) = default;
  friend constexpr bool operator==(CompactOptional, CompactOptional) = default;
  // Without these, std::optional would treat it as a value.
  template <typename U>
  friend constexpr bool operator==(const CompactOptional& a, const std::optional<U>& b) {
    return std::optional<T>(a) == b;
  }
  template <typename U>
  friend constexpr bool operator==(const std::optional<U>& a, const CompactOptional& b) {
    return a == std::optional<T>(b);
  }
  template <typename U>
  friend constexpr auto operator<=>(const CompactOptional& a, const std::optional<U>& b) {
    return std::optional<T>(a) <=> b;
  }
  template <typename U>
  friend constexpr auto operator<=>(const std::optional<U>& a, const CompactOptional& b) {
    return a <=> std::optional<T>(b);
  }

  template <typename Archive>
  void serialize(Archive& archive) {
    archive(stored_);
  }

 private:
  static constexpr Stored kNone = NoValue<Stored>::kValue;
  Stored stored_ = kNone;
};

// An enum with small values, in one byte. A larger value becomes 0: it came from a file and is
// meaningless.
template <typename Enum>
class SmallEnum {
 public:
  constexpr SmallEnum() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): is that enum
  constexpr SmallEnum(Enum value) : stored_(static_cast<uint8_t>(value)) {
    if (static_cast<Enum>(stored_) != value) stored_ = 0;
  }
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr operator Enum() const { return static_cast<Enum>(stored_); }
  template <std::integral Number>
  constexpr explicit operator Number() const {
    return static_cast<Number>(stored_);
  }

  template <typename Archive>
  void serialize(Archive& archive) {
    archive(stored_);
  }

 private:
  uint8_t stored_ = 0;
};

}  // namespace dprof
