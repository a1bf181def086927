// SPDX-License-Identifier: Apache-2.0
// Iterators of containers that pack their values and make each when it is asked for.
#pragma once

#include <boost/stl_interfaces/iterator_interface.hpp>
#include <cstddef>
#include <iterator>

namespace dprof {

// Random access; `*it` is a value, not a reference.
template <typename Container>
class IndexIterator
    : public boost::stl_interfaces::proxy_iterator_interface<IndexIterator<Container>,
                                                             std::random_access_iterator_tag,
                                                             typename Container::value_type> {
 public:
  IndexIterator() = default;
  IndexIterator(const Container& container, size_t at)
      : container_(&container), at_(static_cast<ptrdiff_t>(at)) {}

  typename Container::value_type operator*() const {
    return (*container_)[static_cast<size_t>(at_)];
  }
  IndexIterator& operator+=(ptrdiff_t by) {
    at_ += by;
    return *this;
  }
  friend ptrdiff_t operator-(IndexIterator a, IndexIterator b) { return a.at_ - b.at_; }

 private:
  const Container* container_ = nullptr;
  ptrdiff_t at_ = 0;
};

}  // namespace dprof
