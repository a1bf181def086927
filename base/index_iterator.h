// SPDX-License-Identifier: Apache-2.0
// Iterators of containers that pack their values and make each when it is asked for. (clang 14 does
// not accept Boost.STLInterfaces for this.)
#pragma once

#include <compare>
#include <cstddef>
#include <iterator>

namespace dprof {

// Random access; `*it` is a value, not a reference, as of std::vector<bool>.
template <typename Container>
class IndexIterator {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = typename Container::value_type;
  using difference_type = ptrdiff_t;
  using reference = value_type;
  struct Arrow {
    value_type value;
    const value_type* operator->() const { return &value; }
  };
  using pointer = Arrow;

  IndexIterator() = default;
  IndexIterator(const Container& container, size_t at)
      : container_(&container), at_(static_cast<ptrdiff_t>(at)) {}

  value_type operator*() const { return (*container_)[static_cast<size_t>(at_)]; }
  pointer operator->() const { return {**this}; }
  value_type operator[](ptrdiff_t by) const { return *(*this + by); }

  IndexIterator& operator+=(ptrdiff_t by) {
    at_ += by;
    return *this;
  }
  IndexIterator& operator-=(ptrdiff_t by) { return *this += -by; }
  IndexIterator& operator++() { return *this += 1; }
  IndexIterator& operator--() { return *this -= 1; }
  IndexIterator operator++(int) {
    const IndexIterator before = *this;
    ++*this;
    return before;
  }
  IndexIterator operator--(int) {
    const IndexIterator before = *this;
    --*this;
    return before;
  }

  friend IndexIterator operator+(IndexIterator it, ptrdiff_t by) { return it += by; }
  friend IndexIterator operator+(ptrdiff_t by, IndexIterator it) { return it += by; }
  friend IndexIterator operator-(IndexIterator it, ptrdiff_t by) { return it -= by; }
  friend ptrdiff_t operator-(IndexIterator a, IndexIterator b) { return a.at_ - b.at_; }
  friend bool operator==(IndexIterator a, IndexIterator b) { return a.at_ == b.at_; }
  friend std::strong_ordering operator<=>(IndexIterator a, IndexIterator b) {
    return a.at_ <=> b.at_;
  }

 private:
  const Container* container_ = nullptr;
  ptrdiff_t at_ = 0;
};

}  // namespace dprof
