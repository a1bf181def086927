// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/torch/process_groups.h"

#include <atomic>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collector/inject/torch/core.h"
#include "collector/inject/torch/torch_layout.h"
#include "collector/wire/enum_values.h"
#include "collector/wire/training_records.h"

// ProcessGroup::getGroupName() and getGroupDesc() by their symbols, because their slots move: those
// for today's std::string and for the older one, used by PyPI's 2.6. They return a reference.
extern "C" {
[[gnu::weak]] const void* get_group_name(const c10d::ProcessGroup* group) asm(
    "_ZNK4c10d12ProcessGroup12getGroupNameB5cxx11Ev");
[[gnu::weak]] const void* get_group_desc(const c10d::ProcessGroup* group) asm(
    "_ZNK4c10d12ProcessGroup12getGroupDescB5cxx11Ev");
[[gnu::weak]] const void* old_group_name(const c10d::ProcessGroup* group) asm(
    "_ZNK4c10d12ProcessGroup12getGroupNameEv");
[[gnu::weak]] const void* old_group_desc(const c10d::ProcessGroup* group) asm(
    "_ZNK4c10d12ProcessGroup12getGroupDescEv");
}

namespace dprof::inject::torch_source {
namespace {

constexpr uint32_t kMaxGroups = 1024;
constexpr int32_t kMaxMembers = 1 << 14;  // as many records as a ring holds
constexpr std::string_view kDefaultGroup = "default_pg";

// The last groups used by this thread, so that name and members are read once, not at each call. A
// weak reference keeps the memory of a dead group, so that no other group can get its address; it
// is not released at the end of the thread, when torch may be gone already.
struct KnownGroup {
  const c10d::ProcessGroup* group = nullptr;
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

// True for the first caller with this hash; also if the table is full: twice is harmless.
bool announce(uint64_t hash) noexcept {
  for (uint32_t probe = 0; probe < kMaxGroups; ++probe) {
    std::atomic<uint64_t>& place = announced[(hash + probe) % kMaxGroups];
    uint64_t known = place.load(std::memory_order_relaxed);
    if (known == 0 && place.compare_exchange_strong(known, hash)) return true;
    if (known == hash) return false;
  }
  return true;
}

// C++ programs need not name their groups: unnamed ones are distinguished by the order of first
// use, which is the same on all ranks that use them in the same order.
uint32_t ordinal_of_nameless(const c10d::ProcessGroup& group) noexcept {
  for (uint32_t i = 0; i < kMaxGroups; ++i) {
    const c10d::ProcessGroup* known = nameless[i].load(std::memory_order_relaxed);
    if (known == nullptr && nameless[i].compare_exchange_strong(known, &group)) return i;
    if (known == &group) return i;
  }
  return kMaxGroups;
}

uint8_t backend_of(const c10d::ProcessGroup& group) noexcept {
  using Type = c10d::ProcessGroup::BackendType;
  switch (read_at<Type>(&group, 32)) {
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

// A std::string of either libstdc++ ABI begins with the pointer to its text.
const char* text_of(const void* string) noexcept { return read_at<const char*>(string, 0); }

// One of the backends has the name; a group without backends has none.
std::string name_of(const c10d::ProcessGroup& group) {
  try {
    return text_of(get_group_name != nullptr ? get_group_name(&group) : old_group_name(&group));
  } catch (...) {
    return {};
  }
}

std::string description_of(const c10d::ProcessGroup& group) {
  return text_of(get_group_desc != nullptr ? get_group_desc(&group) : old_group_desc(&group));
}

const c10d::Backend* default_backend_of(const c10d::ProcessGroup& group) {
  using Type = c10d::ProcessGroup::BackendType;
  using Backends = std::unordered_map<Type, const c10d::Backend*>;
  const auto& backends =
      *reinterpret_cast<const Backends*>(reinterpret_cast<const char*>(&group) + layout.backends);
  const auto found = backends.find(read_at<Type>(&group, 32));
  return found != backends.end() ? found->second : nullptr;
}

// The members in the options of the backend; null if they are not given.
const std::vector<uint64_t>* members_in_options(const c10d::ProcessGroup& group) {
  const c10d::Backend* backend = layout.options_slot != 0 ? default_backend_of(group) : nullptr;
  if (backend == nullptr) return nullptr;
  using Options = c10::intrusive_ptr<c10d::Backend::Options> (*)(const c10d::Backend*);
  const auto* table = read_at<const Options*>(backend, 0);
  const auto options = table[layout.options_slot](backend);
  // The backend owns a reference, too: they live as long as it does.
  return reinterpret_cast<const std::vector<uint64_t>*>(
      reinterpret_cast<const char*>(options.get()) + layout.global_ranks);
}

// Global ranks, by number in the group; empty if unknown. torch stores none for the group of all
// ranks, which it describes as "default_pg" and numbers by global rank.
std::vector<int32_t> members_of(const c10d::ProcessGroup& group, int32_t size) {
  std::vector<int32_t> members;
  if (size <= 0 || size > kMaxMembers) return members;
  try {
    const std::vector<uint64_t>* given = members_in_options(group);
    if (given != nullptr) {
      for (const uint64_t rank : *given) members.push_back(static_cast<int32_t>(rank));
    }
    if (members.empty() && description_of(group) == kDefaultGroup) {
      for (int32_t rank = 0; rank < size; ++rank) members.push_back(rank);
    }
  } catch (...) {  // not every backend has options, or a description
    members.clear();
  }
  if (members.size() != static_cast<size_t>(size)) members.clear();
  return members;
}

// Groups of the same name and size can have other members (C++ programs choose the names).
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

bool has_old_strings() noexcept { return get_group_name == nullptr; }

bool groups_have_names() noexcept {
  return (get_group_name != nullptr && get_group_desc != nullptr) ||
         (old_group_name != nullptr && old_group_desc != nullptr);
}

int32_t rank_in_group(const c10d::ProcessGroup& group) noexcept {
  return read_at<int32_t>(&group, 24);
}

int32_t size_of_group(const c10d::ProcessGroup& group) noexcept {
  return read_at<int32_t>(&group, 28);
}

GroupInfo describe_group(const CoreApi& core, const c10d::ProcessGroup& group) {
  KnownGroup& known = known_groups[reinterpret_cast<uintptr_t>(&group) / 64 % kKnownGroups];
  if (known.group == &group) return known.info;
  GroupInfo info;
  info.size = size_of_group(group);
  info.own_rank = rank_in_group(group);
  info.backend = backend_of(group);
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
  c10::raw::weak_intrusive_ptr::incref(const_cast<c10d::ProcessGroup*>(&group));
  if (known.group != nullptr) {
    c10::raw::weak_intrusive_ptr::decref(const_cast<c10d::ProcessGroup*>(known.group));
  }
  known = {&group, info};
  return info;
}

}  // namespace dprof::inject::torch_source
