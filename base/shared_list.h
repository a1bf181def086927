// SPDX-License-Identifier: Apache-2.0
// Immutable lists with many holders: equal lists can share their memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <set>
#include <type_traits>
#include <vector>

namespace dprof {

// Reads like a const vector. Copies share memory. T: an integer of at most 32 bits.
template <typename T>
class SharedList {
  static_assert(std::is_integral_v<T> && sizeof(T) <= sizeof(int32_t));

 public:
  using value_type = T;
  using const_iterator = typename std::vector<T>::const_iterator;

  SharedList() = default;
  SharedList(std::initializer_list<T> values) : SharedList(std::vector<T>(values)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): is that list
  SharedList(std::vector<T> values) {
    if (!values.empty()) values_ = std::make_shared<const std::vector<T>>(std::move(values));
  }
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator const std::vector<T>&() const { return list(); }

  [[nodiscard]] const std::vector<T>& list() const {
    static const std::vector<T> kEmpty;
    return values_ ? *values_ : kEmpty;
  }
  [[nodiscard]] bool empty() const { return list().empty(); }
  [[nodiscard]] size_t size() const { return list().size(); }
  [[nodiscard]] const T& operator[](size_t i) const { return list()[i]; }
  [[nodiscard]] const_iterator begin() const { return list().begin(); }
  [[nodiscard]] const_iterator end() const { return list().end(); }
  [[nodiscard]] bool is_of(const SharedList& other) const { return values_ == other.values_; }

  friend bool operator==(const SharedList& a, const SharedList& b) {
    return a.values_ == b.values_ || a.list() == b.list();
  }

  // As stretches of equally distant values (first, distance, how many): the list of all ranks,
  // which each of 10,000 ranks has, takes three numbers.
  template <typename Archive>
  void save(Archive& archive) const {
    std::vector<int64_t> stretches;
    for (const T value : list()) {
      const auto next = static_cast<int64_t>(value);
      if (!stretches.empty()) {
        const int64_t first = *(stretches.end() - 3);
        int64_t& distance = *(stretches.end() - 2);
        int64_t& count = stretches.back();
        if (count == 1) distance = next - first;
        if (next == first + distance * count) {
          ++count;
          continue;
        }
      }
      stretches.insert(stretches.end(), {next, 0, 1});
    }
    archive(stretches);
  }
  template <typename Archive>
  void load(Archive& archive) {
    std::vector<int64_t> stretches;
    archive(stretches);
    std::vector<T> values;
    for (size_t at = 0; at + 2 < stretches.size(); at += 3) {
      for (int64_t i = 0; i < stretches[at + 2]; ++i)
        values.push_back(static_cast<T>(stretches[at] + stretches[at + 1] * i));
    }
    *this = SharedList(std::move(values));
  }

 private:
  std::shared_ptr<const std::vector<T>> values_;
};

// Makes equal lists share memory. Not thread-safe.
template <typename T>
class ListPool {
 public:
  void share(SharedList<T>& list) {
    if (!list.empty()) list = *known_.insert(list).first;
  }

 private:
  struct Less {
    bool operator()(const SharedList<T>& a, const SharedList<T>& b) const {
      return !a.is_of(b) && a.list() < b.list();
    }
  };
  std::set<SharedList<T>, Less> known_;
};

}  // namespace dprof
