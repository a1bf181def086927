// SPDX-License-Identifier: Apache-2.0
// A result that is made when it is asked for, and again only when what it was made from has
// changed.
#pragma once

#include <optional>
#include <utility>

namespace dprof::view {

template <typename Key, typename Value>
class Kept {
 public:
  template <typename Make>
  const Value& of(Key key, const Make& make) {
    if (!kept_ || !(kept_->first == key)) {
      Value value = make(key);
      kept_.emplace(std::move(key), std::move(value));
    }
    return kept_->second;
  }
  void forget() { kept_.reset(); }

 private:
  std::optional<std::pair<Key, Value>> kept_;
};

}  // namespace dprof::view
