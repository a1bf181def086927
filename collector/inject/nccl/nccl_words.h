// SPDX-License-Identifier: Apache-2.0
// NCCL's words for functions and data types ("AllReduce", "ncclFloat32") as the trace's numbers.
//
// Cost  the length, a switch and one short compare: about 5 ns.
#pragma once

#include <cstdint>
#include <cstring>

#include "collector/wire/enum_values.h"

namespace dprof::inject::nccl {

namespace words {
// `length` is that of `text`, so memcmp stays within both.
template <size_t kBytes>
[[nodiscard]] inline bool is(const char* text, size_t length, const char (&word)[kBytes]) noexcept {
  return length == kBytes - 1 && memcmp(text, word, kBytes - 1) == 0;
}
}  // namespace words

[[nodiscard]] inline uint8_t function_of(const char* text) noexcept {
  namespace number = wire::function;
  if (text == nullptr) return number::kUnknown;
  const size_t length = strlen(text);
  const auto choose = [text, length](const auto& word, uint8_t value) noexcept {
    return words::is(text, length, word) ? value : number::kUnknown;
  };
  switch (length) {
    case 4:
      return text[0] == 'S' ? choose("Send", number::kSend) : choose("Recv", number::kRecv);
    case 6:
      return text[0] == 'G' ? choose("Gather", number::kGather) : choose("Reduce", number::kReduce);
    case 7:
      return choose("Scatter", number::kScatter);
    case 8:
      return choose("AlltoAll", number::kAllToAll);
    case 9:
      if (text[0] == 'B') return choose("Broadcast", number::kBroadcast);
      return text[3] == 'R' ? choose("AllReduce", number::kAllReduce)
                            : choose("AllGather", number::kAllGather);
    case 13:
      return choose("ReduceScatter", number::kReduceScatter);
    default:
      return number::kUnknown;
  }
}

// Unsigned types of more than a byte have no number of their own: they get those of the signed
// types of the same size.
[[nodiscard]] inline uint8_t data_type_of(const char* text) noexcept {
  namespace number = wire::data_type;
  if (text == nullptr) return number::kUnknown;
  const size_t length = strlen(text);
  const auto choose = [text, length](const auto& word, uint8_t value) noexcept {
    return words::is(text, length, word) ? value : number::kUnknown;
  };
  switch (length) {
    case 8:
      return choose("ncclInt8", number::kInt8);
    case 9:
      if (text[4] == 'U') return choose("ncclUint8", number::kUint8);
      return text[7] == '3' ? choose("ncclInt32", number::kInt32)
                            : choose("ncclInt64", number::kInt64);
    case 10:
      return text[8] == '3' ? choose("ncclUint32", number::kInt32)
                            : choose("ncclUint64", number::kInt64);
    case 11:
      if (text[9] == '1') return choose("ncclFloat16", number::kFloat16);
      return text[9] == '3' ? choose("ncclFloat32", number::kFloat32)
                            : choose("ncclFloat64", number::kFloat64);
    case 12:
      return choose("ncclBfloat16", number::kBfloat16);
    case 14:
      return text[11] == '4' ? choose("ncclFloat8e4m3", number::kFloat8)
                             : choose("ncclFloat8e5m2", number::kFloat8);
    default:
      return number::kUnknown;
  }
}

}  // namespace dprof::inject::nccl
