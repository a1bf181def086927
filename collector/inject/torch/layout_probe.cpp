// SPDX-License-Identifier: Apache-2.0
// Whether the chosen layout is that of the LibTorch mapped by this process: compares what the
// readers return with torch's own functions, above all those of its C shim, which are the same in
// each release.
//
// Threading  in a child process of the recorder, on its only thread. It can crash or hang.
#include <ATen/SequenceNumber.h>
#include <ATen/core/custom_class.h>
#include <ATen/ops/stack.h>
#include <ATen/record_function.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <cinttypes>
#include <cstdio>
#include <exception>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include "collector/inject/core_api.h"
#include "collector/inject/export.h"
#include "collector/inject/torch/process_groups.h"
#include "collector/inject/torch/torch_layout.h"

// Torch's functions, by their symbols: the headers may not match these classes.
extern "C" {
void make_group(void* group, int rank, int size) asm("_ZN4c10d12ProcessGroupC1Eii");
const char* name_of_key(uint16_t key) asm("_ZN3c108toStringENS_11DispatchKeyE");
}
std::shared_ptr<const void> type_of_value(const void* value) asm(
    "_ZN3c106IValue7TagTypeINS_4TypeEE3getERKS0_");

namespace dprof::inject::torch_source {
namespace {

constexpr int64_t kSizes[] = {3, 5, 7};
constexpr int64_t kStrides[] = {35, 7, 1};
constexpr int64_t kElements = 105;
constexpr int kNodes = 41;  // by which autograd's sequence number is advanced

// The first difference.
class Finding {
 public:
  // False, and recorded, if they differ.
  bool same(const char* what, int64_t was_read, int64_t is_right) noexcept {
    if (was_read == is_right || text_[0] != '\0') return text_[0] == '\0';
    snprintf(text_, sizeof text_, "%s: %" PRId64 " was read, and %" PRId64 " is right", what,
             was_read, is_right);
    return false;
  }
  bool check(const char* what, bool holds) noexcept {
    if (!holds && text_[0] == '\0')
      snprintf(text_, sizeof text_, "%s is not where it should be", what);
    return holds;
  }
  void raised(const char* what) noexcept {
    if (text_[0] != '\0') return;
    snprintf(text_, sizeof text_, "torch raised: %.*s", static_cast<int>(strcspn(what, "\n")),
             what);
  }
  [[nodiscard]] const char* text() const noexcept { return text_; }

 private:
  char text_[256] = {};
};

constinit Finding finding;
constinit int64_t sequence_before = -1;
constinit bool saw_clone = false;
constinit bool saw_stack = false;

int64_t address_of(const void* at) noexcept {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(at));
}

void check_tensor(TensorView tensor, const void* data) noexcept {
  finding.same("TensorImpl's number of elements", tensor.numel(), kElements) &&
      finding.same("TensorImpl's number of dimensions", static_cast<int64_t>(tensor.dimensions()),
                   std::size(kSizes)) &&
      finding.same("TensorImpl's data type", tensor.data_type(), aoti_torch_dtype_float32()) &&
      finding.same("TensorImpl's device", tensor.device_type(), aoti_torch_device_type_cpu()) &&
      finding.check("TensorImpl's key set", tensor.defined() && tensor.plain()) &&
      finding.check("TensorImpl's storage", tensor.storage() != nullptr) &&
      (data == nullptr ||
       finding.same("StorageImpl's data", address_of(data_of_storage(tensor.storage())),
                    address_of(data))) &&
      finding.same("StorageImpl's size", bytes_of_storage(tensor.storage()),
                   kElements * static_cast<int64_t>(sizeof(float)));
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) noexcept {
  const auto inputs = inputs_of(function);
  if (strcmp(function.name(), "aten::clone") == 0 && !saw_clone) {
    saw_clone = true;
    finding.same("RecordFunction's sequence number", sequence_of(function), sequence_before);
    if (finding.check("IValue's tensor", !inputs.empty() && inputs[0].is_tensor())) {
      check_tensor(inputs[0].tensor(), nullptr);
    }
  } else if (strcmp(function.name(), "aten::stack") == 0) {
    saw_stack = true;
    if (!finding.same("RecordFunction's number of inputs", static_cast<int64_t>(inputs.size()),
                      2) ||
        !finding.check("IValue's list", inputs[0].is_list()) ||
        !finding.same("IValue's list", static_cast<int64_t>(inputs[0].list().size()), 1) ||
        !finding.check("IValue's number", inputs[1].is_int() && inputs[1].number() == 1)) {
      return nullptr;
    }
    check_tensor(inputs[0].list()[0].tensor(), nullptr);
  }
  return nullptr;
}

void on_end(const at::RecordFunction&, at::ObserverContext*) noexcept {}

void check_operators() {
  AtenTensorHandle tensor = nullptr;
  AtenTensorHandle copy = nullptr;
  void* data = nullptr;
  int64_t elements = 0;
  if (!finding.same("aoti_torch_empty_strided",
                    aoti_torch_empty_strided(3, kSizes, kStrides, aoti_torch_dtype_float32(),
                                             aoti_torch_device_type_cpu(), 0, &tensor),
                    0) ||
      !finding.same("aoti_torch_get_data_ptr", aoti_torch_get_data_ptr(tensor, &data), 0) ||
      !finding.same("aoti_torch_get_numel", aoti_torch_get_numel(tensor, &elements), 0) ||
      !finding.same("aoti_torch_get_numel", elements, kElements)) {
    return;
  }
  check_tensor(TensorView(read_at<const void*>(tensor, 0)), data);
  if (finding.text()[0] != '\0') return;
  for (int i = 0; i < kNodes; ++i) at::sequence_number::get_and_increment();
  sequence_before = static_cast<int64_t>(at::sequence_number::peek());
  at::addGlobalCallback(at::RecordFunctionCallback(&on_start, &on_end)
                            .scopes({at::RecordScope::FUNCTION})
                            .needsInputs(true));
  finding.same("aoti_torch_clone", aoti_torch_clone(tensor, &copy), 0);
  if (finding.text()[0] != '\0') return;
  // Never freed, because the correct way is unknown.
  new at::Tensor(
      at::_ops::stack::call(at::TensorList(reinterpret_cast<const at::Tensor*>(tensor), 1), 1));
  finding.check("RecordFunction's name", saw_clone && saw_stack);
}

void check_keys() {
  const int first_key_bit = layout.minor < 8 ? 15 : 16;  // the bits before it are the backends'
  const auto name_of_bit = [first_key_bit](uint64_t bit) {
    return name_of_key(static_cast<uint16_t>(__builtin_ctzll(bit) - first_key_bit + 1));
  };
  finding.check("DispatchKeySet's key of Python",
                strcmp(name_of_bit(layout.python_key), "Python") == 0);
  finding.check("DispatchKeySet's key of sparse tensors",
                strcmp(name_of_bit(uint64_t{1} << 23), "Sparse") == 0 &&
                    strcmp(name_of_bit(uint64_t{1} << 24), "SparseCsr") == 0);
}

// An object that torch takes for a ProcessGroup, and its form in an IValue.
void check_objects() {
  const c10::ClassTypePtr& type = c10::getCustomClassType<c10::intrusive_ptr<c10d::ProcessGroup>>();
  c10::getCustomClassType<c10::intrusive_ptr<c10d::ReduceOp>>();
  struct Value {
    const void* payload;
    uint64_t tag;
  };
  alignas(16) unsigned char object[512] = {};
  memcpy(object + 64, static_cast<const void*>(&type), sizeof type);
  const Value value{object, layout.object_tag};
  finding.same("ivalue::Object's type", address_of(type_of_value(&value).get()),
               address_of(type.get()));
}

// An empty std::unordered_map, whose one bucket is inside the object.
bool is_empty_map(const unsigned char* at) noexcept {
  return read_at<const void*>(at, 0) == at + 48 && read_at<size_t>(at, 8) == 1 &&
         read_at<size_t>(at, 24) == 0;
}

void check_group() {
  alignas(64) static unsigned char memory[4096];
  make_group(memory, 3, 7);
  const auto& group = reinterpret_cast<const c10d::ProcessGroup&>(memory);
  finding.same("ProcessGroup's rank", rank_in_group(group), 3);
  finding.same("ProcessGroup's size", size_of_group(group), 7);
  finding.check("ProcessGroup's name", groups_have_names());
  // The last one of several maps.
  finding.check("ProcessGroup's back ends", is_empty_map(memory + layout.backends) &&
                                                !is_empty_map(memory + layout.backends + 56));
}

}  // namespace
}  // namespace dprof::inject::torch_source

DPROF_EXPORT int dprof_torch_probe(char* sentence, size_t bytes, uint32_t layout_of) noexcept {
  using namespace dprof::inject::torch_source;
  const uint32_t minor = layout_of != 0 ? layout_of : torch_minor();
  if (!choose_layout(minor, false)) {
    snprintf(sentence, bytes, "it is older than 2.6");
    return 1;
  }
  const auto step = [&](const char* what, void (*check)()) {
    if (finding.text()[0] != '\0') return;
    snprintf(sentence, bytes, "%s", what);
    check();
  };
  try {
    step("TensorImpl", &check_operators);
    step("DispatchKeySet", &check_keys);
    step("ivalue::Object", &check_objects);
    step("ProcessGroup", &check_group);
  } catch (const std::exception& error) {
    finding.raised(error.what());
  } catch (...) {
    finding.raised("an exception");
  }
  snprintf(sentence, bytes, "%s", finding.text());
  return sentence[0] == '\0' ? 0 : 1;
}
