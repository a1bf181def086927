// SPDX-License-Identifier: Apache-2.0
// The fields of plain structs, for code that treats all structs alike: archives, JSON.
#pragma once

#include <algorithm>
#include <array>
#include <boost/pfr.hpp>
#include <cstddef>
#include <string_view>
#include <utility>

namespace dprof {

// Calls f(field) for each field, in declaration order. T is an aggregate without bases. (gcc 12
// fails on a std::array of structs in it that lacks `{}`.)
template <typename T, typename F>
void for_each_field(T& value, F&& f) {
  boost::pfr::for_each_field(value, f);
}

// Inside a struct: names its fields, in declaration order. with_fields(f) is f(all of them).
#define DPROF_FIELDS(...)                                       \
  static constexpr std::string_view kFieldNames = #__VA_ARGS__; \
  template <typename F>                                         \
  decltype(auto) with_fields(F&& f) const {                     \
    return f(__VA_ARGS__);                                      \
  }

template <typename T>
concept HasNamedFields = requires {
  T::kFieldNames;
};

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

// Converts to the type of any field.
template <size_t>
struct AnyField {
  template <typename U>
  operator U() const;
};
template <typename T, size_t... kIndexes>
consteval bool has_fields(std::index_sequence<kIndexes...>) {
  return requires { T{AnyField<kIndexes>{}...}; };
}

// Calls f(name, field) for each field of a struct with DPROF_FIELDS. A field missing there is a
// compile error.
template <HasNamedFields T, typename F>
void for_each_named_field(const T& value, F&& f) {
  constexpr size_t kCount = 1 + std::ranges::count(T::kFieldNames, ',');
  static_assert(has_fields<T>(std::make_index_sequence<kCount>()) &&
                    !has_fields<T>(std::make_index_sequence<kCount + 1>()),
                "DPROF_FIELDS names all fields");
  static constexpr std::array<std::string_view, kCount> kNames = names_in<kCount>(T::kFieldNames);
  value.with_fields([&](const auto&... field) {
    const std::string_view* name = kNames.data();
    (f(*name++, field), ...);
  });
}

}  // namespace dprof
