// SPDX-License-Identifier: Apache-2.0
// The use of CUPTI by this process: attaching, enabling record kinds, and moving its records to the
// helper's ring.
//
// Record kinds stay enabled until the process ends or CUPTI is released. CUPTI 13.0 (driver 580,
// H200) crashed on one of its own threads when record kinds were switched off and on while kernels
// ran, and when a graph was launched that is older than its record kind; functions enabled after a
// context was made have no records (docs/design/collector.md). While recording is off, records are
// left out by their times.
//
// Threading  attach() by one thread at a time (ensured by the caller); then everything else by the
//            helper, except push_external() and pop_external(), which any thread can call.
#pragma once

#include <atomic>

#include "collector/inject/cuda/cupti_backend.h"
#include "collector/inject/cuda/cupti_buffers.h"
#include "collector/inject/cuda/cupti_decode.h"
#include "collector/inject/threads.h"
#include "collector/wire/layout.h"

namespace dprof::inject {

enum class Attached : uint8_t { kDone, kMissing, kTaken, kRefused };

class CudaCapture {
 public:
  struct Start {
    uint32_t mask = 0;
    wire::DetailLevel detail{};
    bool first = false;  // no device is in use yet: no graph, no kernel
  };
  // Loads CUPTI, subscribes and enables the requested kinds. Without the subscription no other call
  // is made. On failure `why` gives the reason.
  Attached attach(const Start& start, char* why, size_t why_bytes) noexcept;

  // Switches everything off, collects available records and releases the subscription.
  void detach() noexcept;

  // The recorder is leaving: collects finished buffers; later CUPTI records are dropped.
  void leave() noexcept;

  // The kinds to record from now on. When recording ends, the rest is flushed.
  void want(uint32_t mask, wire::DetailLevel detail) noexcept;

  void flush_when_due(uint64_t now_ns) noexcept;
  // Flushes unfinished records, too, and all buffers that CUPTI holds back because of them.
  void flush_unfinished() noexcept { flush(cupti::kFlushForced); }
  // Decodes finished buffers, 50 ms at most. Returns how long no further call is needed.
  uint64_t drain() noexcept;

  // Collects everything, unfinished records too, for `limit_ns` at most.
  void finish(uint64_t limit_ns) noexcept;

  void push_external(uint64_t id) noexcept;
  void pop_external() noexcept;

  [[nodiscard]] const cupti::Library& library() const noexcept { return library_; }
  [[nodiscard]] const char* backend() const noexcept { return backend_->name; }

 private:
  cupti::Result subscribe() noexcept;
  bool prepare(const Start& start, char* why, size_t why_bytes) noexcept;
  void set_metadata(bool on) noexcept;
  void set_calls(bool on) noexcept;
  cupti::Result set_base(bool on) noexcept;
  void raise_detail(wire::DetailLevel detail) noexcept;
  void drop_detail() noexcept;
  void set_watching(bool on) noexcept;
  void switch_off() noexcept;
  void begin() noexcept;
  void end() noexcept;
  [[nodiscard]] uint64_t now() const noexcept;
  void flush(uint32_t flag) noexcept;
  bool decode_until(uint64_t deadline_ns) noexcept;
  bool decode_buffer(const cupti::Sink& sink, uint64_t deadline_ns) noexcept;
  static void count_unread(uint64_t bytes) noexcept;
  void end_buffer(uint64_t unread_bytes) noexcept;
  void write_flush() noexcept;

  cupti::Library library_ = {};
  bool loaded_ = false;
  cupti::Client client_ = {};
  const cupti::Backend* backend_ = nullptr;
  std::atomic<const cupti::Backend*> external_ = nullptr;  // set while launches may be marked
  cupti::BufferPool pool_;
  cupti::Decoder decoder_;

  bool listed_calls_ = true;                              // functions are enabled one by one
  bool graphs_on_ = false;                                // whole graphs have records
  wire::DetailLevel detail_ = wire::DetailLevel::kLight;  // the level whose kinds are on
  bool watching_ = false;                                 // events
  bool recording_ = false;

  // The buffer being read, and the position in it.
  cupti::BufferPool::Finished current_ = {};
  uint8_t* record_ = nullptr;

  uint64_t next_flush_ns_ = 0;
  uint64_t flush_until_ns_ = 0;  // after recording was switched off
  bool flushed_ = false;         // a GpuFlush is due when everything is decoded
  uint64_t flush_ticks_ = 0;
  wire::GpuFlush flush_ = {};
};

extern CudaCapture cuda_capture;

}  // namespace dprof::inject
