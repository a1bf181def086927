// SPDX-License-Identifier: Apache-2.0
// The decoder on hand-made records, and on garbage.
#include "collector/inject/cuda/cupti_decode.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "collector/inject/cuda/cupti_sink.h"

namespace dprof::inject::cupti {
namespace {

struct Written {
  wire::Record record;
  std::vector<unsigned char> more;
};

struct Collected {
  std::vector<Written> records;
  std::vector<std::string> texts = {""};

  static uint32_t text(void* user, const char* words) noexcept {
    auto& self = *static_cast<Collected*>(user);
    if (words == nullptr) return 0;
    self.texts.emplace_back(words);
    return static_cast<uint32_t>(self.texts.size() - 1);
  }
  static uint32_t api_name(void* user, Domain domain, uint32_t callback_id) noexcept {
    const std::string name = (domain == Domain::kRuntime ? "r" : "d") + std::to_string(callback_id);
    return text(user, name.c_str());
  }
  static bool write(void* user, const wire::Record& record, const void* more,
                    uint32_t bytes) noexcept {
    const auto* from = static_cast<const unsigned char*>(more);
    static_cast<Collected*>(user)->records.push_back({record, {from, from + bytes}});
    return true;
  }
  Sink sink() { return {this, &text, &api_name, &write}; }
};

template <typename Record>
Decoded decode(Decoder& decoder, const Record& record, Collected& into, size_t room = 0) {
  std::vector<uint8_t> bytes(sizeof record);
  memcpy(bytes.data(), &record, sizeof record);
  return decoder.decode(bytes.data(), room == 0 ? bytes.size() : room, 5, into.sink());
}

Kernel a_kernel() {
  Kernel kernel{};
  kernel.kind = ActivityKind::kConcurrentKernel;
  kernel.name = "k";
  kernel.start = 10;
  kernel.end = 20;
  kernel.stream = 3;
  return kernel;
}

TEST(CuptiDecode, ShapesOnlyWhenAskedFor) {
  Decoder decoder;
  Collected seen;
  EXPECT_EQ(decode(decoder, a_kernel(), seen), Decoded::kDone);
  decoder.configure(wire::DetailLevel::kFull, true);
  EXPECT_EQ(decode(decoder, a_kernel(), seen), Decoded::kDone);
  ASSERT_EQ(seen.records.size(), 2u);
  EXPECT_EQ(seen.records[0].more.size(), 0u);
  EXPECT_EQ(seen.records[1].more.size(), sizeof(wire::KernelShape));
}

TEST(CuptiDecode, OnlyWhatRanWhileItWasRecorded) {
  Decoder decoder;
  Collected seen;
  Kernel kernel = a_kernel();
  kernel.start = 100;
  kernel.end = 200;
  const auto decoded = [&](uint64_t begin, uint64_t end) {
    decoder.record_between(begin, end);
    return decode(decoder, kernel, seen);
  };
  EXPECT_EQ(decoded(201, 300), Decoded::kForeign);
  EXPECT_EQ(decoded(50, 100), Decoded::kForeign);
  EXPECT_EQ(decoded(150, 160), Decoded::kDone);
  kernel.end = 0;  // not known
  EXPECT_EQ(decoded(201, 300), Decoded::kDone);
  EXPECT_EQ(seen.records.size(), 2u);
}

TEST(CuptiDecode, TimesThatAreMissingOrOnAnotherClockAreFlagged) {
  Decoder decoder;
  decoder.configure(wire::DetailLevel::kStandard, false);
  Collected seen;
  Kernel kernel = a_kernel();
  decode(decoder, kernel, seen);
  kernel.end = 0;
  decode(decoder, kernel, seen);
  EXPECT_EQ(wire::body_of<wire::GpuActivity>(seen.records[0].record).flags,
            wire::gpu_flag::kRealtimeBase);
  EXPECT_EQ(wire::body_of<wire::GpuActivity>(seen.records[1].record).flags,
            wire::gpu_flag::kNoTimestamp);
}

TEST(CuptiDecode, ANullNameIsNoName) {
  Decoder decoder;
  Collected seen;
  Kernel kernel = a_kernel();
  kernel.name = nullptr;
  EXPECT_EQ(decode(decoder, kernel, seen), Decoded::kDone);
  EXPECT_EQ(seen.records[0].record.string, 0u);
}

TEST(CuptiDecode, EveryCutIsSeen) {
  for (size_t room = 1; room < sizeof(Kernel); ++room) {
    Decoder decoder;
    Collected seen;
    EXPECT_EQ(decode(decoder, a_kernel(), seen, room), Decoded::kCut) << room;
    EXPECT_TRUE(seen.records.empty());
  }
}

TEST(CuptiDecode, CopiesOfUnknownKindAreKept) {
  Decoder decoder;
  Collected seen;
  Memcpy copy{};
  copy.kind = ActivityKind::kMemcpy;
  for (uint32_t kind = 0; kind < 256; ++kind) {
    copy.copy_kind = static_cast<CopyKind>(kind);
    EXPECT_EQ(decode(decoder, copy, seen), Decoded::kDone);
  }
  EXPECT_EQ(seen.records.size(), 256u);
  for (const Written& one : seen.records) {
    const auto kind = wire::body_of<wire::GpuActivity>(one.record).kind;
    EXPECT_TRUE(kind >= 1 && kind <= 3);
    EXPECT_NE(one.record.string, 0u);
  }
}

TEST(CuptiDecode, AStreamWithoutItsContextHasNoDevice) {
  Decoder decoder;
  Collected seen;
  const StreamInfo stream{ActivityKind::kStream, 9, 4, 0, 2, 0};
  EXPECT_EQ(decode(decoder, stream, seen), Decoded::kDone);
  EXPECT_TRUE(seen.records.empty());
  decode(decoder, ContextInfo{ActivityKind::kContext, 9, 2, 1, 1}, seen);
  decode(decoder, stream, seen);
  ASSERT_EQ(seen.records.size(), 1u);
  EXPECT_EQ(wire::body_of<wire::StreamName>(seen.records[0].record).device, 2u);
}

TEST(CuptiDecode, MoreContextsThanFitAreSurvived) {
  Decoder decoder;
  Collected seen;
  for (uint32_t context = 0; context < 1000; ++context) {
    decode(decoder, ContextInfo{ActivityKind::kContext, context, 1, 1, 1}, seen);
  }
  decode(decoder, StreamInfo{ActivityKind::kStream, 999, 4, 0, 2, 0}, seen);
  EXPECT_TRUE(seen.records.empty());
}

TEST(CuptiDecode, GarbageNeverReadsPastTheEnd) {
  std::mt19937 random(6);
  Decoder decoder;
  Collected seen;
  // Not kinds with a pointer to a name, which would be followed: CUPTI's own are always valid.
  constexpr uint32_t kWithoutText[] = {0, 1, 2, 3, 4, 5, 9, 17, 22, 37, 38, 39, 51, 60, ~0u};
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> bytes(random() % 200);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    const uint32_t kind = kWithoutText[random() % std::size(kWithoutText)];
    if (bytes.size() >= sizeof kind) memcpy(bytes.data(), &kind, sizeof kind);
    const size_t before = seen.records.size();
    const Decoded decoded = decoder.decode(bytes.data(), bytes.size(), 1, seen.sink());
    if (decoded != Decoded::kDone) {
      EXPECT_EQ(seen.records.size(), before);
    }
  }
}

TEST(CuptiDecode, NamesOfFunctionsArePlain) {
  const auto plain = [](const char* name) {
    char text[64];
    plain_api_name(name, text, sizeof text);
    return std::string(text);
  };
  EXPECT_EQ(plain("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(plain("cudaMemcpyAsync_ptsz_v7000"), "cudaMemcpyAsync");
  EXPECT_EQ(plain("cudaLaunchKernelExC_v11060"), "cudaLaunchKernelExC");
  EXPECT_EQ(plain("cuMemcpyHtoDAsync_v2"), "cuMemcpyHtoDAsync_v2");
  EXPECT_EQ(plain("cuLaunchKernel_ptsz"), "cuLaunchKernel");
  EXPECT_EQ(plain("cuLaunchKernel"), "cuLaunchKernel");
  EXPECT_EQ(plain(""), "");
  EXPECT_EQ(plain("_"), "_");
}

}  // namespace
}  // namespace dprof::inject::cupti
