// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/torch/process_groups.h"

#include <atomic>
#include <string>
#include <string_view>

#include "collector/wire/enum_values.h"

namespace dprof::inject::torch_source {
namespace {

constexpr uint32_t kMaxGroups = 1024;

constinit std::atomic<uint64_t> announced[kMaxGroups] = {};
constinit std::atomic<const c10d::ProcessGroup*> nameless[kMaxGroups] = {};

uint64_t hash_bytes(uint64_t hash, const void* data, size_t bytes) noexcept {
  const auto* at = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ at[i]) * 1099511628211u;  // FNV-1a
  return hash;
}

// True for the first caller with this hash; also when the table is full: twice is harmless.
bool announce(uint64_t hash) noexcept {
  for (uint32_t probe = 0; probe < kMaxGroups; ++probe) {
    std::atomic<uint64_t>& place = announced[(hash + probe) % kMaxGroups];
    uint64_t known = place.load(std::memory_order_relaxed);
    if (known == 0 && place.compare_exchange_strong(known, hash)) return true;
    if (known == hash) return false;
  }
  return true;
}

// C++ programs need not name their groups: those are told apart by the order of their first use,
// which is the same on all ranks that use them in the same order.
uint32_t ordinal_of_nameless(const c10d::ProcessGroup& group) noexcept {
  for (uint32_t i = 0; i < kMaxGroups; ++i) {
    const c10d::ProcessGroup* known = nameless[i].load(std::memory_order_relaxed);
    if (known == nullptr && nameless[i].compare_exchange_strong(known, &group)) return i;
    if (known == &group) return i;
  }
  return kMaxGroups;
}

uint8_t backend_of_name(std::string_view name) noexcept {
  if (name == "gloo") return wire::backend::kGloo;
  if (name == "nccl") return wire::backend::kNccl;
  if (name == "mpi") return wire::backend::kMpi;
  return name.empty() || name == "undefined" ? wire::backend::kUnknown : wire::backend::kOther;
}

uint8_t backend_of(const c10d::ProcessGroup& group) noexcept {
  using Type = c10d::ProcessGroup::BackendType;
  switch (group.getBackendType()) {
    case Type::GLOO:
      return wire::backend::kGloo;
    case Type::NCCL:
      return wire::backend::kNccl;
    case Type::MPI:
      return wire::backend::kMpi;
    case Type::UNDEFINED:
      return wire::backend::kUnknown;
    default:
      return wire::backend::kOther;
  }
}

// The name lies in one of the back ends; a group without any has none.
std::string name_of(const c10d::ProcessGroup& group) {
  try {
    return group.getGroupName();
  } catch (...) {
    return {};
  }
}

}  // namespace

GroupInfo describe_group(const CoreApi& core, c10d::ProcessGroup& group) {
  GroupInfo info;
  info.size = group.getSize();
  info.own_rank = group.getRank();
  info.backend = backend_of(group);
  if (info.backend == wire::backend::kUnknown) {
    info.backend = backend_of_name(group.getBackendName());
  }
  const std::string name = name_of(group);
  uint64_t hash = hash_bytes(14695981039346656037u, name.data(), name.size());
  hash = hash_bytes(hash, &info.size, sizeof info.size);
  if (name.empty()) {
    const uint32_t ordinal = ordinal_of_nameless(group);
    hash = hash_bytes(hash, &ordinal, sizeof ordinal);
  }
  info.hash = hash != 0 ? hash : 1;
  if (announce(info.hash)) {
    wire::Record record{};
    record.kind = wire::Kind::kCommunicator;
    record.slots = 1;
    record.communicator = {};
    record.communicator.group = info.hash;
    record.communicator.size = info.size;
    record.communicator.own_rank = info.own_rank;
    record.communicator.backend = info.backend;
    core.define(name.c_str(), &record);
  }
  return info;
}

}  // namespace dprof::inject::torch_source
