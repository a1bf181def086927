// SPDX-License-Identifier: Apache-2.0
// The fields of plain structs, for code that treats all structs alike: archives, JSON.
#pragma once

#include <array>
#include <boost/pfr.hpp>
#include <cstddef>
#include <string_view>
#include <tuple>

namespace dprof {

// Calls f(field) for each field, in declaration order. T is an aggregate without bases. (gcc 12
// fails on a std::array of structs in it that lacks `{}`.)
template <typename T, typename F>
void for_each_field(T& value, F&& f) {
  boost::pfr::for_each_field(value, f);
}

// Inside a struct: names its fields, in declaration order.
#define DPROF_FIELDS(...)                                       \
  static constexpr std::string_view kFieldNames = #__VA_ARGS__; \
  [[nodiscard]] auto fields() const { return std::tie(__VA_ARGS__); }

// Splits "a, b, c" into its parts.
template <size_t kCount>
consteval std::array<std::string_view, kCount> names_in(std::string_view list) {
  std::array<std::string_view, kCount> names;
  size_t begin = 0;
  for (std::string_view& name : names) {
    while (begin < list.size() && list[begin] == ' ') ++begin;
    size_t end = begin;
    while (end < list.size() && list[end] != ',') ++end;
    name = list.substr(begin, end - begin);
    begin = end + 1;
  }
  return names;
}

// Calls f(name, field) for each field of a struct with DPROF_FIELDS. A field missing there is a
// compile error.
template <typename T, typename F>
void for_each_named_field(const T& value, F&& f) {
  constexpr size_t kCount = std::tuple_size_v<decltype(value.fields())>;
  static_assert(kCount == boost::pfr::tuple_size_v<T>, "DPROF_FIELDS names all fields");
  static constexpr std::array<std::string_view, kCount> kNames = names_in<kCount>(T::kFieldNames);
  std::apply(
      [&](const auto&... field) {
        const std::string_view* name = kNames.data();
        (f(*name++, field), ...);
      },
      value.fields());
}

}  // namespace dprof
