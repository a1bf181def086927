// SPDX-License-Identifier: Apache-2.0
// Rows from NCCL's profiler plugin, LibTorch's calls into NCCL and NCCL's own NVTX ranges:
// communicator, collective, nccl_event. All three can see the same collective; it is one row.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "collector/recorder/rows/gpu_rows.h"
#include "collector/recorder/rows/nccl_payload.h"
#include "collector/recorder/rows/row_context.h"
#include "collector/wire/nccl_records.h"
#include "collector/wire/ring.h"

namespace dprof::recorder {

// Joining    on its thread, a call runs c10d::allreduce_ → ncclAllReduce (NVTX) → plugin. The c10d
//            call makes the row; the plugin's next call, if the c10d call can have caused it,
//            adopts that row (so the row has torch's reduction, bucket and group, and NCCL's
//            communicator, sequence, algorithm) or makes one. NVTX makes one if neither of the two
//            sees the call, and supplies the reduction if only the plugin does. The kernel comes
//            seconds later, by the launch's external id; all calls of a group on one stream share
//            the group's kernels.
// Order      records are taken in order of time over all threads, by run().
// Bounds     every map is bounded: the oldest entry is dropped, and its row stays unchanged.
// Threading  one thread.
class NcclRows {
 public:
  explicit NcclRows(RowContext context) : context_(std::move(context)) {}

  // A record of kinds 30 to 49, with a time already checked. False: it is invalid.
  bool on_record(const wire::ReadRecord& read, const ThreadRef& thread, int64_t time_ns);
  // A checked c10d call whose backend is NCCL.
  void on_enqueue(const wire::Record& record, const ThreadRef& thread, int64_t time_ns,
                  std::optional<int64_t> ready_ns);
  // A payload with a schema, of any domain.
  void on_payload(const RangePayload& payload);

  // Processes the records until then, in order of time.
  void run(int64_t until_ns);
  // A kernel that NCCL launched.
  void on_kernel(const LaunchedKernel& kernel);
  // Records were lost, or none were taken for a while: the next calls do not belong to earlier
  // ones.
  void forget_calls() { threads_.clear(); }

  void flush() {}
  void finish();
  // Of nccl_event; those of collective are counted by Collectives.
  [[nodiscard]] int64_t rows() const { return events_; }

 private:
  static constexpr size_t kMostCommunicators = 16384;
  static constexpr size_t kMostThreads = 4096;
  // CUPTI reports a kernel up to three seconds after its launch.
  static constexpr size_t kMostOpen = 16384;   // rows, calls, their events
  static constexpr size_t kMostGroups = 8192;  // and launches
  static constexpr size_t kMostRowsOfGroup = 1024;

  struct Enqueue {
    wire::CollectiveEnqueue call;
    std::optional<int64_t> ready_ns;
  };
  struct Collective {
    wire::NcclCollective body;
    wire::NcclTuning tuning;
  };
  struct Announced {
    wire::NcclCommunicator body;
    int64_t name_id;
  };
  struct Proxy {
    wire::NcclProxy body;
    int64_t end_ns;
  };
  using What = std::variant<Enqueue, Announced, wire::NcclCall, Collective, wire::NcclPointToPoint,
                            wire::NcclLaunch, wire::NcclKernelChannel, Proxy, NvtxNcclCall,
                            NvtxNcclCommunicator>;
  struct Item {
    int64_t time_ns;
    uint64_t arrival;
    ThreadRef thread;
    What what;
  };

  struct Communicator {
    NcclCommunicatorFacts facts;
    bool by_plugin = false;
    std::optional<int64_t> row_id;
  };
  // The last c10d call of a thread and its known effects.
  struct TorchCall {
    int64_t row_id;
    schema::Function function;
    bool adopted = false;
    uint64_t launch = 0;     // NCCL's group, of the adopter
    uint64_t hash = 0;       // NCCL's communicator, of the adopter
    int64_t nvtx_bytes = 0;  // accounted for by NVTX ranges
  };
  struct Caller {
    std::optional<TorchCall> torch;
    std::optional<NvtxNcclCall> nvtx;  // whose plugin call has not come yet
  };
  using Group = std::pair<uint64_t, uint64_t>;  // NCCL's group, cudaStream_t

  // A map that drops its oldest entry when full.
  template <typename Key, typename Value>
  struct Recent {
    std::map<Key, Value> map;
    std::deque<Key> order;

    Value& at(const Key& key, size_t most) {
      const auto [found, is_new] = map.try_emplace(key);
      if (!is_new) return found->second;
      order.push_back(key);
      if (order.size() > most) {
        map.erase(order.front());
        order.pop_front();
      }
      return found->second;
    }
    const Value* find(const Key& key) const {
      const auto found = map.find(key);
      return found != map.end() ? &found->second : nullptr;
    }
  };

  bool await_turn(const ThreadRef& thread, int64_t time_ns, What what);
  void join(const Item& item);
  void start_torch_row(const Item& item, const Enqueue& enqueue);
  void describe_by_plugin(const Item& item, const Announced& announced);
  void join_call(const Item& item, const wire::NcclCall& call);
  void join_collective(const Item& item, const Collective& collective);
  void join_message(const Item& item, const wire::NcclPointToPoint& message);
  void note_launch(const wire::NcclLaunch& launch);
  void add_channel(const Item& item, const wire::NcclKernelChannel& channel);
  void add_proxy(const Item& item, const Proxy& proxy);
  void join_nvtx_call(const Item& item, const NvtxNcclCall& call);
  void describe_by_nvtx(const Item& item, const NvtxNcclCommunicator& communicator);

  Communicator* communicator(uint64_t hash);
  int64_t row_of(Communicator& communicator, std::optional<int64_t> carries = std::nullopt);
  Caller& caller(const ThreadRef& thread);
  // The row of a call of the plugin: a c10d call's, or a new one. nullopt: too many communicators.
  std::optional<int64_t> row_for(const Item& item, const wire::NcclCall& call);
  [[nodiscard]] bool can_adopt(const Caller& caller, schema::Function function) const;
  // The c10d call's row, now of that communicator.
  schema::CollectiveRow adopted(const TorchCall& torch, Communicator& communicator);
  int64_t add(schema::CollectiveRow row);
  void keep(int64_t row_id);
  void count_refused(const Item& item);
  bool is_nccl_domain(uint32_t domain);
  bool on_proxy(const wire::Record& record, const ThreadRef& thread, int64_t time_ns);
  void add_event(uint64_t parent, schema::NcclEventRow row);

  RowContext context_;
  std::vector<Item> items_;
  uint64_t arrivals_ = 0;
  std::map<std::pair<uint64_t, uint64_t>, Communicator> communicators_;  // by hash, ordinal
  std::unordered_map<uint32_t, Caller> threads_;
  Recent<uint64_t, int64_t> calls_;    // id of a call → row
  Recent<uint64_t, int64_t> parents_;  // id of a collective or message → row
  int64_t events_ = 0;
  Recent<Group, std::vector<int64_t>> groups_;  // → rows
  Recent<uint64_t, Group> launches_;            // id of a launch → group
  std::deque<int64_t> open_;                    // rows that can still change, oldest first
  std::optional<std::pair<uint32_t, bool>> last_domain_;
};

}  // namespace dprof::recorder
