// SPDX-License-Identifier: Apache-2.0
// A result that is made when it is asked for, and again only when what it was made from has
// changed. Where it may take long to make, the former is shown until it is there.
#pragma once

#include <optional>
#include <utility>

namespace dprof::view {

template <typename Key, typename Value>
class Counted {
 public:
  // Made here and now, unless it is kept.
  template <typename Make>
  const Value& now(Key key, const Make& make) {
    wanted_.reset();
    if (!is_kept(key)) {
      Value value = make(key);
      kept_.emplace(std::move(key), std::move(value));
    }
    return kept_->second;
  }

  // Made now if it is quick, which is asked only where it is not kept. Else wanted, and what is
  // kept of a former question; nothing = an empty value.
  template <typename IsQuick, typename Make>
  const Value& soon(Key key, const IsQuick& is_quick, const Make& make) {
    if (is_kept(key) || is_quick()) return now(std::move(key), make);
    wanted_ = std::move(key);
    static const Value kNothing{};
    return kept_ ? kept_->second : kNothing;
  }

  // The question that what is shown does not answer.
  [[nodiscard]] const std::optional<Key>& wanted() const { return wanted_; }

  // The question that what is shown answers; nullptr = none yet.
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
