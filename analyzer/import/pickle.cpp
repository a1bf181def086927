// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>

#include "analyzer/import/plain_data.h"

namespace dprof::analyzer {
namespace {

using Id = PlainData::Id;
using Kind = PlainData::Kind;

constexpr size_t kMostMarks = 1024;  // limit of nested open containers

// A stack machine with only the opcodes for plain containers.
class PickleReader {
 public:
  explicit PickleReader(std::string_view bytes) : bytes_(bytes) {}

  Result<PlainData> run() {
    while (!stopped_) {
      if (at_ >= bytes_.size()) return fail(Code::kDamaged, "the pickle is cut off");
      if (data_.is_full()) return fail(Code::kDamaged, "the pickle has too many values");
      const auto opcode = static_cast<uint8_t>(bytes_[at_++]);
      if (!step(opcode)) return fail(Code::kDamaged, std::move(what_));
    }
    if (stack_.size() != 1) return fail(Code::kDamaged, "the pickle does not end with one value");
    data_.set_root(stack_.front());
    return std::move(data_);
  }

 private:
  bool refuse(std::string what) {
    what_ = std::move(what);
    return false;
  }

  bool step(uint8_t opcode) {
    switch (opcode) {
      case 0x80:
        return bytes(1).has_value() || cut();  // PROTO
      case 0x95:
        return bytes(8).has_value() || cut();  // FRAME
      case '.':
        stopped_ = true;
        return true;  // STOP
      case 'N':
        return push(data_.add(Kind::kNone));  // NONE
      case 0x88:
        return push(data_.add(Kind::kBool, 1));  // NEWTRUE
      case 0x89:
        return push(data_.add(Kind::kBool, 0));  // NEWFALSE
      case 'J':
        return push_integer(4, true);  // BININT
      case 'K':
        return push_integer(1, false);  // BININT1
      case 'M':
        return push_integer(2, false);  // BININT2
      case 0x8a:
        return push_long(1);  // LONG1
      case 0x8b:
        return push_long(4);  // LONG4
      case 'G':
        return push_real();  // BINFLOAT
      case 'X':
        return push_text(4);  // BINUNICODE
      case 0x8c:
        return push_text(1);  // SHORT_BINUNICODE
      case 0x8d:
        return push_text(8);  // BINUNICODE8
      case 'T':
        return push_text(4);  // BINSTRING
      case 'U':
        return push_text(1);  // SHORT_BINSTRING
      case 'B':
        return push_text(4);  // BINBYTES
      case 'C':
        return push_text(1);  // SHORT_BINBYTES
      default:
        return step_container(opcode);
    }
  }

  bool step_container(uint8_t opcode) {
    switch (opcode) {
      case '}':
        return push(data_.add(Kind::kDict));  // EMPTY_DICT
      case ']':                               // EMPTY_LIST
      case ')':
        return push(data_.add(Kind::kList));  // EMPTY_TUPLE
      case 0x85:
        return tuple_of_last(1);  // TUPLE1
      case 0x86:
        return tuple_of_last(2);  // TUPLE2
      case 0x87:
        return tuple_of_last(3);  // TUPLE3
      case '(':
        return mark();  // MARK
      case 't':         // TUPLE
      case 'l':
        return container_since_mark(Kind::kList);  // LIST
      case 'd':
        return container_since_mark(Kind::kDict);  // DICT
      case 'e':
        return add_since_mark(Kind::kList);  // APPENDS
      case 'u':
        return add_since_mark(Kind::kDict);  // SETITEMS
      case 'a':
        return add_last(Kind::kList);  // APPEND
      case 's':
        return add_last(Kind::kDict);  // SETITEM
      case '0':
        return pop();  // POP
      case '1':
        return pop_mark();  // POP_MARK
      case 'q':
        return remember(1);  // BINPUT
      case 'r':
        return remember(4);  // LONG_BINPUT
      case 0x94:
        return remember_as(memo_.size());  // MEMOIZE
      case 'h':
        return recall(1);  // BINGET
      case 'j':
        return recall(4);  // LONG_BINGET
      default:
        return refuse(fmt::format(
            "the pickle has opcode 0x{:02x} at byte {}: plain containers do not need it, and dprof does not execute it",
            opcode, at_ - 1));
    }
  }

  std::optional<std::string_view> bytes(size_t count) {
    if (count > bytes_.size() - at_) return std::nullopt;
    const std::string_view taken = bytes_.substr(at_, count);
    at_ += count;
    return taken;
  }
  bool cut() { return refuse("the pickle is cut off"); }

  // Little endian.
  std::optional<uint64_t> number(size_t width) {
    const auto raw = bytes(width);
    if (!raw) return std::nullopt;
    uint64_t value = 0;
    for (size_t i = width; i > 0; --i) value = (value << 8U) | static_cast<uint8_t>((*raw)[i - 1]);
    return value;
  }

  bool push(Id id) {
    stack_.push_back(id);
    return true;
  }
  bool push_integer(size_t width, bool is_signed) {
    const auto value = number(width);
    if (!value) return cut();
    const auto plain = static_cast<int64_t>(*value);
    return push(data_.add(Kind::kInteger,
                          is_signed ? static_cast<int32_t>(static_cast<uint32_t>(*value)) : plain));
  }
  bool push_long(size_t width) {
    const auto length = number(width);
    const auto raw = length ? bytes(*length) : std::nullopt;
    if (!raw) return cut();
    if (raw->size() > 8) return push(data_.add(Kind::kOutOfRange));
    uint64_t value = !raw->empty() && (static_cast<uint8_t>(raw->back()) & 0x80U) != 0 ? ~0ULL : 0;
    for (size_t i = raw->size(); i > 0; --i)
      value = (value << 8U) | static_cast<uint8_t>((*raw)[i - 1]);
    return push(data_.add(Kind::kInteger, static_cast<int64_t>(value)));
  }
  bool push_real() {
    const auto raw = bytes(8);
    if (!raw) return cut();
    uint64_t value = 0;
    for (const char byte : *raw) value = (value << 8U) | static_cast<uint8_t>(byte);
    return push(data_.add_real(std::bit_cast<double>(value)));
  }
  bool push_text(size_t width) {
    const auto length = number(width);
    const auto raw = length ? bytes(*length) : std::nullopt;
    if (!raw) return cut();
    return push(data_.add_text(*raw));
  }

  // Only items above the last mark can be taken.
  [[nodiscard]] size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  bool mark() {
    if (marks_.size() >= kMostMarks) return refuse("the pickle is nested too deeply");
    marks_.push_back(stack_.size());
    return true;
  }
  bool pop() {
    if (stack_.size() <= floor()) return refuse("the pickle reads a missing value");
    stack_.pop_back();
    return true;
  }
  bool pop_mark() {
    if (marks_.empty()) return refuse("the pickle reads a missing value");
    stack_.resize(marks_.back());
    marks_.pop_back();
    return true;
  }
  bool tuple_of_last(size_t count) {
    if (stack_.size() < floor() + count) return refuse("the pickle reads a missing value");
    const Id tuple = data_.add(Kind::kList);
    for (size_t i = stack_.size() - count; i < stack_.size(); ++i) data_.append(tuple, stack_[i]);
    stack_.resize(stack_.size() - count);
    return push(tuple);
  }
  bool container_since_mark(Kind kind) {
    const Id container = data_.add(kind);
    if (!fill_since_mark(container, kind)) return false;
    return push(container);
  }
  bool add_since_mark(Kind kind) {
    if (marks_.empty() || marks_.back() == 0) return refuse("the pickle adds to a missing value");
    const Id container = stack_[marks_.back() - 1];
    if (data_.kind(container) != kind)
      return refuse("the pickle adds to something that is not a container");
    return fill_since_mark(container, kind);
  }
  bool fill_since_mark(Id container, Kind kind) {
    if (marks_.empty()) return refuse("the pickle reads a missing value");
    const size_t from = marks_.back();
    marks_.pop_back();
    if (kind == Kind::kDict && (stack_.size() - from) % 2 != 0)
      return refuse("the pickle has a key without a value");
    for (size_t i = from; i < stack_.size(); ++i) data_.append(container, stack_[i]);
    stack_.resize(from);
    return true;
  }
  bool add_last(Kind kind) {
    const size_t count = kind == Kind::kDict ? 2 : 1;
    if (stack_.size() < floor() + count + 1) return refuse("the pickle adds to a missing value");
    const Id container = stack_[stack_.size() - count - 1];
    if (data_.kind(container) != kind)
      return refuse("the pickle adds to something that is not a container");
    for (size_t i = stack_.size() - count; i < stack_.size(); ++i)
      data_.append(container, stack_[i]);
    stack_.resize(stack_.size() - count);
    return true;
  }
  bool remember(size_t width) {
    const auto key = number(width);
    return key ? remember_as(*key) : cut();
  }
  bool remember_as(uint64_t key) {
    if (stack_.size() <= floor()) return refuse("the pickle stores a missing value");
    memo_[key] = stack_.back();
    return true;
  }
  bool recall(size_t width) {
    const auto key = number(width);
    if (!key) return cut();
    const auto found = memo_.find(*key);
    if (found == memo_.end()) return refuse("the pickle refers to a value that it never stored");
    return push(found->second);
  }

  std::string_view bytes_;
  size_t at_ = 0;
  PlainData data_;
  std::vector<Id> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, Id> memo_;
  bool stopped_ = false;
  std::string what_;
};

}  // namespace

Result<PlainData> read_pickle(std::string_view bytes) {
  if (bytes.size() < 2 || static_cast<uint8_t>(bytes[0]) != 0x80 || bytes[1] < 2 || bytes[1] > 5)
    return fail(Code::kNotATrace, "not a pickle of protocol 2 to 5");
  return PickleReader(bytes).run();
}

}  // namespace dprof::analyzer
