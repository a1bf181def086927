// SPDX-License-Identifier: Apache-2.0
// The use of CUPTI by this process: attaching, what is switched on, and bringing its records to the
// helper's ring.
//
// Threading  attach() by one thread at a time (the caller sees to it); then everything else by the
//            helper, but for push_external() and pop_external(), which any thread may call.
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
  // Loads CUPTI, subscribes and switches on what `mask` and `detail` ask for. Without the
  // subscription no other call is made. Otherwise `why` says why not.
  Attached attach(uint32_t mask, wire::DetailLevel detail, char* why, size_t why_bytes) noexcept;

  // Switches everything off, takes what is there and gives the subscription back.
  void detach() noexcept;

  // What is to be recorded from now on. When recording ends the rest is flushed.
  void want(uint32_t mask, wire::DetailLevel detail) noexcept;

  void flush_when_due(uint64_t now_ns) noexcept;
  // Decodes what is finished, 50 ms at most. Returns for how long it needs no other call.
  uint64_t drain() noexcept;

  // Takes everything, unfinished records too, for `limit_ns` at most.
  void finish(uint64_t limit_ns) noexcept;

  void push_external(uint64_t id) noexcept;
  void pop_external() noexcept;

  [[nodiscard]] const cupti::Library& library() const noexcept { return library_; }
  [[nodiscard]] const char* backend() const noexcept { return backend_->name; }

 private:
  cupti::Result subscribe() noexcept;
  bool switch_on(char* why, size_t why_bytes) noexcept;
  void set_metadata(bool on) noexcept;
  cupti::Result set_base(bool on) noexcept;
  void set_standard(bool on) noexcept;
  void reconcile() noexcept;
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

  uint32_t mask_ = 0;
  wire::DetailLevel detail_ = wire::DetailLevel::kStandard;
  bool base_on_ = false;
  bool standard_on_ = false;

  // The buffer that is being read, and where in it.
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
