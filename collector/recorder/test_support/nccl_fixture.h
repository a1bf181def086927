// SPDX-License-Identifier: Apache-2.0
// A process with records of NCCL's plugin, LibTorch and NVTX, built by hand.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "collector/recorder/test_support/drain_fixture.h"
#include "collector/recorder/test_support/records.h"
#include "collector/wire/enum_values.h"
#include "collector/wire/nccl_records.h"

namespace dprof::recorder {

inline constexpr uint64_t kGroup = 0xABCD;   // LibTorch's hash of the process group
inline constexpr uint64_t kHash = 0x5EED;    // NCCL's
inline constexpr uint64_t kStream = 0x7000;  // cudaStream_t
inline constexpr uint8_t kNccl = 2;          // Backend
inline constexpr uint64_t kSid = uint64_t{1} << 24;

class NcclRowsTest : public DrainTest {
 protected:
  void communicator(uint64_t ticks, int32_t ranks = 8, uint64_t hash = kHash,
                    uint64_t ordinal = 0) {
    wire::NcclCommunicator body{};
    body.hash = hash;
    body.ordinal = ordinal;
    body.ranks = ranks;
    body.rank = 0;
    main_.push(record_of(wire::Kind::kNcclCommunicator, 0, ticks, body));
  }
  void group(int32_t size = 8) {
    wire::Record record{};
    record.kind = wire::Kind::kCommunicator;
    record.slots = 1;
    record.string = process_.text("default_pg");
    record.ticks = 5;
    record.communicator = {.group = kGroup, .size = size, .own_rank = 3, .backend = kNccl};
    main_.push(record);
  }
  void torch(uint64_t ticks, schema::Function function, uint16_t bucket = 0) {
    wire::Record record = collective_enqueue(process_.text("c10d::op"), ticks, kGroup,
                                             static_cast<uint8_t>(function));
    record.enqueue.backend = kNccl;
    record.enqueue.bucket = bucket;
    record.enqueue.ready_ticks = bucket != 0 ? ticks - 10 : 0;
    main_.push(record);
  }
  wire::NcclCall call_of(uint64_t id, schema::Function function, int64_t count = 1024) {
    wire::NcclCall body{};
    body.id = id;
    body.hash = kHash;
    body.count = count;
    body.stream = kStream;
    body.launch = launch_;
    body.root = -1;
    body.function = static_cast<uint8_t>(function);
    body.data_type = 8;  // float32
    return body;
  }
  void call(uint64_t ticks, uint64_t id, schema::Function function, int64_t count = 1024) {
    main_.push(record_of(wire::Kind::kNcclCall, 0, ticks, call_of(id, function, count)));
  }
  void collective(uint64_t ticks, uint64_t id, uint64_t of_call, schema::Function function,
                  uint64_t sequence) {
    wire::NcclCollective body{};
    body.id = id;
    body.call = of_call;
    body.hash = kHash;
    body.sequence = sequence;
    body.count = 1024;
    body.root = -1;
    body.function = static_cast<uint8_t>(function);
    body.data_type = of_call != 0 ? 8 : 2;
    body.channels = 24;
    const wire::NcclTuning tuning{process_.text("RING"), process_.text("LL128"), 16, {}};
    main_.push(record_of(wire::Kind::kNcclCollective, 0, ticks, body), &tuning, sizeof tuning);
  }
  void message(uint64_t ticks, uint64_t id, uint64_t of_call, schema::Function function,
               int32_t peer, uint64_t sequence) {
    wire::NcclPointToPoint body{};
    body.id = id;
    body.call = of_call;
    body.hash = kHash;
    body.sequence = sequence;
    body.count = 1024;
    body.peer = peer;
    body.function = static_cast<uint8_t>(function);
    body.data_type = 8;
    body.channels = 2;
    main_.push(record_of(wire::Kind::kNcclPointToPoint, 0, ticks, body));
  }
  void launch(uint64_t ticks, uint64_t id) {
    wire::NcclLaunch body{};
    body.id = id;
    body.group = launch_;
    body.stream = kStream;
    main_.push(record_of(wire::Kind::kNcclLaunch, 0, ticks, body));
  }
  void kernel(uint64_t launch_id, uint32_t correlation, int64_t start_ns, int64_t end_ns,
              bool external_first = false) {
    const auto external = [&] {
      helper_.push(
          record_of(wire::Kind::kExternalCorrelation, 0, 900'000,
                    wire::ExternalCorrelation{.external = launch_id, .correlation = correlation}));
    };
    if (external_first) external();
    helper_.push(record_of(wire::Kind::kGpuActivity, process_.text("ncclDevKernel"), 900'000,
                           kernel_of(start_ns, end_ns, 21, correlation)));
    if (!external_first) external();
  }
  void schema_field(uint64_t schema, uint32_t index, const char* name, uint64_t type,
                    uint64_t offset) {
    wire::Record record{};
    record.kind = wire::Kind::kSchemaEntry;
    record.slots = 1;
    record.string = process_.text(name);
    record.ticks = 1;
    record.schema_entry.schema_id = schema;
    record.schema_entry.type = type;
    record.schema_entry.offset = offset;
    record.schema_entry.domain = domain_;
    record.schema_entry.index = index;
    main_.push(record);
  }
  void nvtx_schemas() {
    schema_field(kSid + 5, 0, "NCCL communicator ID", 18, 0);
    schema_field(kSid + 5, 1, "Message size [bytes]", 22, 8);
    schema_field(kSid + 5, 2, "Reduction operation", kSid + 20, 16);
    schema_field(kSid + 9, 0, "NCCL communicator ID", 18, 0);
    schema_field(kSid + 9, 1, "Message size [bytes]", 22, 8);
    schema_field(kSid + 9, 2, "Peer rank", 5, 16);
    schema_field(kSid, 0, "NCCL communicator ID", 18, 0);
    schema_field(kSid, 1, "No. of ranks", 5, 8);
    schema_field(kSid, 2, "Rank", 5, 12);
    schema_field(kSid, 3, "CUDA device", 5, 16);
  }
  // A range of NCCL's with its payload of three words at the push; ends 5 ticks later.
  void nvtx(uint64_t ticks, const char* name, uint64_t schema, uint64_t bytes, uint64_t third) {
    const uint64_t payload[] = {kHash, bytes, third};
    wire::Record begin = range_begin(process_.text(name), ticks, wire::range_category::kNvtx);
    begin.range_begin.domain = domain_;
    begin.range_begin.payload_kind = 7;
    begin.range_begin.payload = sizeof payload;
    begin.range_begin.schema_id = schema;
    main_.push(begin, payload, sizeof payload);
    wire::Record end = range_end(ticks + 5, wire::range_category::kNvtx);
    end.range_end.domain = domain_;
    main_.push(end);
  }
  std::vector<schema::CollectiveRow> result() {
    drain_.pass();
    trace_.emplace(read());
    return rows<schema::CollectiveRow>(*trace_);
  }
  std::vector<schema::CommunicatorRow> communicators() {
    return rows<schema::CommunicatorRow>(*trace_);
  }

  uint64_t launch_ = 500;  // id of NCCL's group
  wire::RingWriter helper_ = process_.open_ring(0, kPid + 50);
  wire::RingWriter main_ = process_.open_ring(1, kPid);
  uint32_t domain_ = process_.text("NCCL");
  std::optional<schema::TraceReader> trace_;
};

}  // namespace dprof::recorder
