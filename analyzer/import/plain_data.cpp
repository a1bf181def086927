// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/plain_data.h"

#include <bit>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>

namespace dprof::analyzer {
namespace {

constexpr size_t kDeepest = 64;

// Turns nlohmann's events into PlainData.
class JsonReader : public nlohmann::json::json_sax_t {
 public:
  explicit JsonReader(PlainData& data) : data_(data) {}

  bool null() override { return put(data_.add(PlainData::Kind::kNone)); }
  bool boolean(bool value) override {
    return put(data_.add(PlainData::Kind::kBool, value ? 1 : 0));
  }
  bool number_integer(int64_t value) override {
    return put(data_.add(PlainData::Kind::kInteger, value));
  }
  bool number_unsigned(uint64_t value) override {
    if (value > static_cast<uint64_t>(INT64_MAX))
      return put(data_.add(PlainData::Kind::kOutOfRange));
    return put(data_.add(PlainData::Kind::kInteger, static_cast<int64_t>(value)));
  }
  bool number_float(double value, const std::string& /*text*/) override {
    return put(data_.add_real(value));
  }
  bool string(std::string& value) override { return put(data_.add_text(value)); }
  bool binary(nlohmann::json::binary_t& /*value*/) override { return false; }
  bool start_object(size_t /*size*/) override { return open(PlainData::Kind::kDict); }
  bool start_array(size_t /*size*/) override { return open(PlainData::Kind::kList); }
  bool key(std::string& name) override {
    const auto [known, is_new] = key_ids_.try_emplace(name, PlainData::kNothing);
    if (is_new) known->second = data_.add_text(name);
    keys_.back() = known->second;
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::json::exception& error) override {
    what_ = error.what();
    return false;
  }
  [[nodiscard]] const std::string& what() const { return what_; }

 private:
  bool put(PlainData::Id id) {
    if (data_.is_full()) {
      what_ = "too many values";
      return false;
    }
    if (open_.empty()) {
      data_.set_root(id);
    } else if (data_.kind(open_.back()) == PlainData::Kind::kDict) {
      data_.set(open_.back(), keys_.back(), id);
    } else {
      data_.append(open_.back(), id);
    }
    return true;
  }
  bool open(PlainData::Kind kind) {
    if (open_.size() >= kDeepest) {
      what_ = "nested too deeply";
      return false;
    }
    const PlainData::Id id = data_.add(kind);
    if (!put(id)) return false;
    open_.push_back(id);
    keys_.push_back(PlainData::kNothing);
    return true;
  }
  bool close() {
    open_.pop_back();
    keys_.pop_back();
    return true;
  }

  PlainData& data_;
  std::vector<PlainData::Id> open_;
  std::unordered_map<std::string, PlainData::Id> key_ids_;  // each is stored once
  std::vector<PlainData::Id> keys_;                         // the last key of each open dict
  std::string what_;
};

}  // namespace

PlainData::Id PlainData::add(Kind kind, int64_t integer) {
  const bool holds = kind == Kind::kList || kind == Kind::kDict;
  nodes_.push_back({holds ? static_cast<int64_t>(items_.size()) : integer, kind});
  if (holds) items_.emplace_back();
  return static_cast<Id>(nodes_.size() - 1);
}

PlainData::Id PlainData::add_real(double value) {
  return add(Kind::kReal, std::bit_cast<int64_t>(value));
}

PlainData::Id PlainData::add_text(std::string_view text) {
  texts_.emplace_back(text);
  return add(Kind::kText, static_cast<int64_t>(texts_.size()) - 1);
}

void PlainData::set(Id dict, Id key, Id value) {
  items(dict).push_back(key);
  items(dict).push_back(value);
}

PlainData::Kind PlainData::kind(Id id) const {
  return id < nodes_.size() ? nodes_[id].kind : Kind::kNone;
}

// The last entry of a key counts.
PlainData::Id PlainData::find(Id dict, std::string_view key) const {
  if (kind(dict) != Kind::kDict) return kNothing;
  const std::vector<Id>& entries = items(dict);
  for (size_t i = entries.size(); i >= 2; i -= 2) {
    const Id name = entries[i - 2];
    if (kind(name) == Kind::kText && text_of(name) == key) return entries[i - 1];
  }
  return kNothing;
}

size_t PlainData::size(Id id) const {
  if (kind(id) == Kind::kDict) return items(id).size() / 2;
  return kind(id) == Kind::kList ? items(id).size() : 0;
}

PlainData::Id PlainData::item(Id list, size_t index) const {
  if (kind(list) != Kind::kList || index >= items(list).size()) return kNothing;
  return items(list)[index];
}

std::pair<PlainData::Id, PlainData::Id> PlainData::entry(Id dict, size_t index) const {
  if (kind(dict) != Kind::kDict || index >= size(dict)) return {kNothing, kNothing};
  return {items(dict)[2 * index], items(dict)[2 * index + 1]};
}

std::optional<int64_t> PlainData::integer(Id id) const {
  if (kind(id) == Kind::kInteger) return nodes_[id].value;
  if (kind(id) != Kind::kText) return std::nullopt;
  const std::string& text = text_of(id);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<bool> PlainData::boolean(Id id) const {
  if (kind(id) != Kind::kBool) return std::nullopt;
  return nodes_[id].value != 0;
}

std::optional<std::string_view> PlainData::text(Id id) const {
  if (kind(id) != Kind::kText) return std::nullopt;
  return text_of(id);
}

Result<PlainData> read_json(std::string_view text) {
  PlainData data;
  JsonReader reader(data);
  if (nlohmann::json::sax_parse(text, &reader)) return data;
  return fail(Code::kDamaged,
              reader.what().empty() ? std::string("not valid JSON") : reader.what());
}

}  // namespace dprof::analyzer
