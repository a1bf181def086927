// SPDX-License-Identifier: Apache-2.0
// Converts CUPTI's activity records into wire records. Their contents are trusted; only lengths are
// checked.
//
// Threading  the helper. Texts are read while the record is decoded: CUPTI's pointers are valid in
//            this process only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collector/inject/cuda/cupti_abi.h"
#include "collector/wire/gpu_records.h"
#include "collector/wire/layout.h"

namespace dprof::inject::cupti {

// Output of a decoder, and the functions it needs.
struct Sink {
  void* user;
  uint32_t (*text)(void* user, const char* text) noexcept;  // arena id, 0 for null
  uint32_t (*api_name)(void* user, Domain, uint32_t callback_id) noexcept;
  bool (*write)(void* user, const wire::Record&, const void* more, uint32_t more_bytes) noexcept;
};

enum class Decoded : uint8_t {
  kDone,
  kForeign,  // of a kind, or from a time, that dprof did not request
  kCut,      // the buffer ends before the record does
};

class Decoder {
 public:
  // Kernel shapes are written at full detail, synchronisation and overhead not at light; times are
  // flagged if they are not on our clock.
  void configure(wire::DetailLevel detail, bool own_clock) noexcept {
    full_ = detail == wire::DetailLevel::kFull;
    standard_ = detail >= wire::DetailLevel::kStandard;
    own_clock_ = own_clock;
  }
  // Omits records that ended before `begin` or began after `end`. CUPTI's clock, ns.
  void record_between(uint64_t begin, uint64_t end) noexcept {
    begin_ = begin;
    end_ = end;
  }
  void record_until(uint64_t end) noexcept { end_ = end; }
  // Keeps only calls for which `wants` is true; null: all.
  void choose_calls(bool (*wants)(Domain, uint32_t callback_id) noexcept) noexcept {
    wants_call_ = wants;
  }

  // Decodes the record that begins at `data`, of which `room` bytes are in the buffer.
  Decoded decode(const uint8_t* data, size_t room, uint64_t ticks, const Sink& sink) noexcept;

 private:
  static constexpr uint32_t kMaxContexts = 64;
  static constexpr uint16_t kNoDevice = 0xffff;

  struct ContextDevice {
    uint32_t context;
    uint16_t device;
    uint32_t null_stream;
  };

  void write_activity(wire::GpuActivity body, uint32_t name, uint64_t ticks, const Sink& sink,
                      const wire::KernelShape* shape = nullptr) const noexcept;
  [[nodiscard]] uint8_t flags_of(uint64_t start, uint64_t end) const noexcept;
  [[nodiscard]] const ContextDevice* find(uint32_t context) const noexcept;
  [[nodiscard]] uint16_t device_of(uint32_t context) const noexcept;
  void note(uint32_t context, uint32_t device, uint32_t null_stream) noexcept;
  void on_kernel(const Kernel&, uint64_t ticks, const Sink&) noexcept;
  void on_memcpy(const Memcpy&, uint64_t ticks, const Sink&) noexcept;
  void on_memcpy_peer(const MemcpyPeer&, uint64_t ticks, const Sink&) noexcept;
  void on_memset(const Memset&, uint64_t ticks, const Sink&) noexcept;
  void on_graph(const GraphTrace&, uint64_t ticks, const Sink&) noexcept;
  void on_synchronization(const Synchronization&, uint64_t ticks, const Sink&) noexcept;
  void on_api(const Api&, uint64_t ticks, const Sink&) noexcept;
  void on_external(const External&, uint64_t ticks, const Sink&) noexcept;
  void on_overhead(const Overhead&, uint64_t ticks, const Sink&) noexcept;
  void on_device(const DeviceInfo&, uint64_t ticks, const Sink&) noexcept;
  void on_context(const ContextInfo&, uint64_t ticks, const Sink&) noexcept;
  void on_stream(const StreamInfo&, uint64_t ticks, const Sink&) noexcept;

  // Metadata and markers have no times.
  template <typename Body>
  [[nodiscard]] bool is_outside(const Body& body) const noexcept {
    if constexpr (requires { body.start + body.end; }) {
      return body.start != 0 && body.end != 0 && (body.end < begin_ || body.start >= end_);
    }
    return false;
  }

  bool (*wants_call_)(Domain, uint32_t) noexcept = nullptr;
  uint64_t begin_ = 0;
  uint64_t end_ = UINT64_MAX;
  bool full_ = false;
  bool standard_ = true;
  bool own_clock_ = true;
  ContextDevice contexts_[kMaxContexts] = {};
  uint32_t context_count_ = 0;
};

}  // namespace dprof::inject::cupti
