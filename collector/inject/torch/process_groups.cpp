// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/torch/process_groups.h"

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "collector/inject/torch/core.h"
#include "collector/wire/enum_values.h"
#include "collector/wire/training_records.h"

namespace dprof::inject::torch_source {
namespace {

constexpr uint32_t kMaxGroups = 1024;
constexpr int32_t kMaxMembers = 1 << 14;  // as many records as a ring holds
constexpr std::string_view kDefaultGroup = "default_pg";

// The last groups that this thread used, so that name and members are read once, not at each call.
// A weak reference keeps the memory of a group that has died, so that no other group can get its
// address; it is not given back at the end of the thread, which then may have no torch any more.
struct KnownGroup {
  c10d::ProcessGroup* group = nullptr;
  GroupInfo info;
};
constexpr uint32_t kKnownGroups = 16;
thread_local KnownGroup known_groups[kKnownGroups];

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

// Global ranks, by number in the group; empty where they are not known. torch keeps them in the
// options of the back end. It keeps none for the group of all ranks, which it describes as
// "default_pg" and numbers as they are.
std::vector<int32_t> members_of(const c10d::ProcessGroup& group, int32_t size) {
  std::vector<int32_t> members;
  if (size <= 0 || size > kMaxMembers) return members;
  try {
    const auto back_end = group.getDefaultBackend();
    const std::vector<uint64_t>& told = back_end->getBackendOptions()->global_ranks_in_group;
    for (const uint64_t rank : told) members.push_back(static_cast<int32_t>(rank));
    if (told.empty() && group.getGroupDesc() == kDefaultGroup) {
      for (int32_t rank = 0; rank < size; ++rank) members.push_back(rank);
    }
  } catch (...) {  // not every back end has options, or a description
    members.clear();
  }
  if (members.size() != static_cast<size_t>(size)) members.clear();
  return members;
}

// Groups of one name and size may have other members (C++ programs choose the names).
uint64_t hash_members(uint64_t hash, const std::vector<int32_t>& members) noexcept {
  hash = hash_bytes(hash, members.data(), members.size() * sizeof(int32_t));
  return hash != 0 ? hash : 1;
}

void define_group(const CoreApi& core, const GroupInfo& info, const std::string& name,
                  const std::vector<int32_t>& members) {
  wire::Record record = record_of(wire::Kind::kCommunicator);
  record.communicator = {};
  record.communicator.group = info.hash;
  record.communicator.size = info.size;
  record.communicator.own_rank = info.own_rank;
  record.communicator.backend = info.backend;
  core.define(name.c_str(), &record);
  int32_t number = 0;
  for (const int32_t rank : members) {
    wire::Record member = record_of(
        wire::Kind::kGroupMember,
        wire::GroupMember{.group = info.hash, .member = number++, .rank = rank, .reserved = {}});
    core.write(nullptr, &member, false);
  }
}

}  // namespace

GroupInfo describe_group(const CoreApi& core,
                         const c10::intrusive_ptr<c10d::ProcessGroup>& pointer) {
  c10d::ProcessGroup& group = *pointer;
  KnownGroup& known = known_groups[reinterpret_cast<uintptr_t>(&group) / 64 % kKnownGroups];
  if (known.group == &group) return known.info;
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
  const std::vector<int32_t> members = members_of(group, info.size);
  info.hash = hash_members(hash, members);
  if (announce(info.hash)) define_group(core, info, name, members);
  c10::raw::weak_intrusive_ptr::incref(&group);
  if (known.group != nullptr) c10::raw::weak_intrusive_ptr::decref(known.group);
  known = {&group, info};
  return info;
}

}  // namespace dprof::inject::torch_source
