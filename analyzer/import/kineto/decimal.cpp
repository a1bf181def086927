// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/kineto/decimal.h"

#include <algorithm>
#include <charconv>

namespace dprof::analyzer::kineto {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A parsed decimal number: 0.DIGITS * 10^point.
struct Decimal {
  bool negative = false;
  std::string_view whole, fraction;
  int exponent = 0;
};

std::optional<Decimal> take_apart(std::string_view text) {
  Decimal number;
  size_t at = 0;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) number.negative = text[at++] == '-';
  const auto digits = [&] {
    const size_t begin = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return text.substr(begin, at - begin);
  };
  number.whole = digits();
  if (at < text.size() && text[at] == '.') {
    ++at;
    number.fraction = digits();
  }
  if (number.whole.empty() && number.fraction.empty()) return std::nullopt;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && text[at] == '+') ++at;
    const auto [end, error] =
        std::from_chars(text.data() + at, text.data() + text.size(), number.exponent);
    if (error != std::errc() || number.exponent > 100 || number.exponent < -100)
      return std::nullopt;
    at = static_cast<size_t>(end - text.data());
  }
  if (at != text.size()) return std::nullopt;
  return number;
}

// The number times 10^shift, rounded half up (away from 0), if it is within `limit`.
std::optional<int64_t> scaled(const Decimal& number, int shift, uint64_t limit) {
  const int64_t places = static_cast<int64_t>(number.whole.size()) + number.exponent + shift;
  const auto digit = [&](int64_t i) -> uint64_t {  // i-th digit of whole and fraction
    const auto at = static_cast<size_t>(i);
    if (at < number.whole.size()) return static_cast<uint64_t>(number.whole[at] - '0');
    const size_t in_fraction = at - number.whole.size();
    return in_fraction < number.fraction.size()
               ? static_cast<uint64_t>(number.fraction[in_fraction] - '0')
               : 0;
  };
  uint64_t sum = 0;
  const auto total = static_cast<int64_t>(number.whole.size() + number.fraction.size());
  for (int64_t i = 0; i < places; ++i) {
    if (i >= total && sum == 0) break;
    const uint64_t next = digit(i);
    if (sum > (limit - next) / 10) return std::nullopt;
    sum = sum * 10 + next;
  }
  if (places >= 0 && places < total && digit(places) >= 5) ++sum;
  if (sum > limit) return std::nullopt;
  return number.negative ? -static_cast<int64_t>(sum) : static_cast<int64_t>(sum);
}

// Fast path for most times: a few digits, a point, three digits.
std::optional<int64_t> quick_ns(std::string_view text, int* decimals) {
  constexpr size_t kSafe = 16;  // digits: 1000 times such a number fits in 64 bits
  uint64_t whole = 0;
  size_t at = 0;
  while (at < text.size() && is_digit(text[at])) whole = whole * 10 + (text[at++] & 0xFU);
  if (at == 0 || at > kSafe) return std::nullopt;
  uint64_t thousandths = 0;
  if (at < text.size()) {
    if (text[at++] != '.') return std::nullopt;
    const size_t places = text.size() - at;
    if (places == 0 || places > 3) return std::nullopt;
    for (size_t i = 0; i < 3; ++i) {
      const char c = i < places ? text[at + i] : '0';
      if (!is_digit(c)) return std::nullopt;
      thousandths = thousandths * 10 + (c & 0xFU);
    }
    if (decimals != nullptr) *decimals = std::max(*decimals, static_cast<int>(places));
  }
  const uint64_t ns = whole * 1000 + thousandths;
  if (ns > kMaxTimeNs) return std::nullopt;
  return static_cast<int64_t>(ns);
}

}  // namespace

std::optional<int64_t> ns_of_us(std::string_view text, int* decimals) {
  if (const std::optional<int64_t> quick = quick_ns(text, decimals)) return quick;
  const std::optional<Decimal> number = take_apart(text);
  if (!number) return std::nullopt;
  if (decimals != nullptr) {
    const auto places = static_cast<int64_t>(number->fraction.size()) - number->exponent;
    *decimals = std::max(*decimals, static_cast<int>(std::clamp<int64_t>(places, 0, 3)));
  }
  return scaled(*number, 3, kMaxTimeNs);
}

std::optional<int64_t> whole_number(std::string_view text) {
  uint64_t plain = 0;
  const char* end = text.data() + text.size();
  if (const auto [stop, error] = std::from_chars(text.data(), end, plain);
      error == std::errc() && stop == end) {
    return static_cast<int64_t>(plain);
  }
  const std::optional<Decimal> number = take_apart(text);
  if (!number) return std::nullopt;
  if (number->exponent == 0 &&
      !std::ranges::all_of(number->fraction, [](char c) { return c == '0'; })) {
    return std::nullopt;
  }
  return scaled(*number, 0, INT64_MAX);
}

std::optional<int64_t> number_of(const Event& event, Arg arg) {
  const Value value = event[arg];
  return value.scalar() ? whole_number(value.raw) : std::nullopt;
}

}  // namespace dprof::analyzer::kineto
