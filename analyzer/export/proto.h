// SPDX-License-Identifier: Apache-2.0
// Protocol Buffers' wire format, enough to write a message: fields appended to a string.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace dprof::analyzer {

// A nested message is opened, filled, and closed. Its length precedes it, in one byte that is
// extended if necessary.
class ProtoWriter {
 public:
  void number(int field, uint64_t value) {
    key(field, kVarint);
    varint(value);
  }
  void number(int field, int64_t value) { number(field, static_cast<uint64_t>(value)); }
  void number(int field, int value) { number(field, static_cast<int64_t>(value)); }
  void flag(int field, bool value) { number(field, static_cast<uint64_t>(value ? 1 : 0)); }
  void fixed64(int field, uint64_t value) {
    key(field, kFixed64);
    for (int byte = 0; byte < 8; ++byte) bytes_ += static_cast<char>(value >> (8 * byte));
  }
  void real(int field, double value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    fixed64(field, bits);
  }
  void text(int field, std::string_view value) {
    key(field, kBytes);
    varint(value.size());
    bytes_ += value;
  }

  // Returns the argument for close().
  [[nodiscard]] size_t open(int field) {
    key(field, kBytes);
    bytes_ += '\0';
    return bytes_.size();
  }
  void close(size_t begin) {
    uint64_t length = bytes_.size() - begin;
    size_t at = begin - 1;
    for (; length >= 0x80; length >>= 7) {
      bytes_[at] = static_cast<char>(length | 0x80);
      bytes_.insert(++at, 1, '\0');
    }
    bytes_[at] = static_cast<char>(length);
  }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  enum Wire : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2 };

  void key(int field, Wire wire) { varint(static_cast<uint64_t>(field) << 3 | wire); }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace dprof::analyzer
