// SPDX-License-Identifier: Apache-2.0
// A result computed on demand, and again only if its inputs have changed. If computing can take
// long, the previous result is shown until the new one is ready.
#pragma once

#include <optional>
#include <utility>

namespace dprof::view {

template <typename Key, typename Value>
class Counted {
 public:
  // Computed immediately, unless cached.
  template <typename Make>
  const Value& now(Key key, const Make& make) {
    wanted_.reset();
    if (!is_kept(key)) {
      Value value = make(key);
      kept_.emplace(std::move(key), std::move(value));
    }
    return kept_->second;
  }

  // Computed immediately if that is quick, which is only checked if it is not cached. Otherwise it
  // becomes wanted, and the result for a previous key is returned; an empty value without one.
  template <typename IsQuick, typename Make>
  const Value& soon(Key key, const IsQuick& is_quick, const Make& make) {
    if (is_kept(key) || is_quick()) return now(std::move(key), make);
    wanted_ = std::move(key);
    static const Value kNothing{};
    return kept_ ? kept_->second : kNothing;
  }

  // The key that the result shown does not match.
  [[nodiscard]] const std::optional<Key>& wanted() const { return wanted_; }

  // The key of the result shown; nullptr = none yet.
  [[nodiscard]] const Key* kept() const { return kept_ ? &kept_->first : nullptr; }

  void give(Key key, Value value) {
    if (wanted_ == key) wanted_.reset();
    kept_.emplace(std::move(key), std::move(value));
  }

  void forget() {
    kept_.reset();
    wanted_.reset();
  }

 private:
  [[nodiscard]] bool is_kept(const Key& key) const { return kept_ && kept_->first == key; }

  std::optional<std::pair<Key, Value>> kept_;
  std::optional<Key> wanted_;
};

}  // namespace dprof::view
