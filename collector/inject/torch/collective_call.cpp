// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/torch/collective_call.h"

#include <ATen/core/custom_class.h>

#include <torch/csrc/distributed/c10d/Types.hpp>

#include "collector/inject/torch/process_groups.h"
#include "collector/inject/torch/torch_layout.h"
#include "collector/wire/enum_values.h"

namespace dprof::inject::torch_source {
namespace {

using Inputs = std::span<const ValueView>;

struct DataType {
  int64_t bytes = 0;  // of an element; 0 = not known
  uint8_t name = wire::data_type::kUnknown;
};

DataType data_type_of(uint16_t type) noexcept {
  using namespace wire::data_type;
  switch (static_cast<c10::ScalarType>(type)) {
    case c10::ScalarType::Byte:
      return {1, kUint8};
    case c10::ScalarType::Char:
      return {1, kInt8};
    case c10::ScalarType::Short:
      return {2, kInt16};
    case c10::ScalarType::Int:
      return {4, kInt32};
    case c10::ScalarType::Long:
      return {8, kInt64};
    case c10::ScalarType::Half:
      return {2, kFloat16};
    case c10::ScalarType::BFloat16:
      return {2, kBfloat16};
    case c10::ScalarType::Float:
      return {4, kFloat32};
    case c10::ScalarType::Double:
      return {8, kFloat64};
    case c10::ScalarType::Bool:
      return {1, kBool};
    case c10::ScalarType::ComplexFloat:
      return {8, kComplex64};
    case c10::ScalarType::ComplexDouble:
      return {16, kComplex128};
    case c10::ScalarType::Float8_e5m2:
    case c10::ScalarType::Float8_e4m3fn:
    case c10::ScalarType::Float8_e5m2fnuz:
    case c10::ScalarType::Float8_e4m3fnuz:
      return {1, kFloat8};
    case c10::ScalarType::ComplexHalf:
    case c10::ScalarType::QInt32:
    case c10::ScalarType::UInt32:
      return {4, kUnknown};
    case c10::ScalarType::QInt8:
    case c10::ScalarType::QUInt8:
    case c10::ScalarType::Bits8:
    case c10::ScalarType::Float8_e8m0fnu:
      return {1, kUnknown};
    case c10::ScalarType::UInt16:
    case c10::ScalarType::Bits16:
      return {2, kUnknown};
    case c10::ScalarType::UInt64:
      return {8, kUnknown};
    default:
      return {};
  }
}

uint8_t reduction_of(c10d::ReduceOp::RedOpType type) noexcept {
  using namespace wire::reduction;
  switch (type) {
    case c10d::ReduceOp::SUM:
      return kSum;
    case c10d::ReduceOp::AVG:
      return kAvg;
    case c10d::ReduceOp::PRODUCT:
      return kProduct;
    case c10d::ReduceOp::MIN:
      return kMin;
    case c10d::ReduceOp::MAX:
      return kMax;
    case c10d::ReduceOp::BAND:
    case c10d::ReduceOp::BOR:
    case c10d::ReduceOp::BXOR:
      return kBitwise;
    default:
      return kOther;
  }
}

// Sum over the tensors of an argument.
struct Sum {
  int64_t count = 0;
  int64_t bytes = 0;
  uint32_t tensors = 0;
  uint8_t data_type = wire::data_type::kUnknown;
  bool known = true;

  void add(TensorView tensor) noexcept {
    if (!tensor.defined()) return;
    const DataType type = data_type_of(tensor.data_type());
    if (!tensor.plain() || type.bytes == 0) {
      known = false;
      return;
    }
    ++tensors;
    count += tensor.numel();
    bytes += tensor.numel() * type.bytes;
    data_type = type.name;
  }

  void add(const ValueView& value) noexcept {
    if (value.is_tensor()) {
      add(value.tensor());
    } else if (value.is_list()) {
      for (const ValueView& item : value.list()) add(item);
    } else {
      known = false;
    }
  }
};

Sum sum_of(Inputs inputs, int8_t index) noexcept {
  Sum sum;
  if (index < 0 || static_cast<size_t>(index) >= inputs.size()) {
    sum.known = false;
    return sum;
  }
  sum.add(inputs[static_cast<size_t>(index)]);
  return sum;
}

int32_t rank_at(Inputs inputs, int8_t index) noexcept {
  if (index < 0 || static_cast<size_t>(index) >= inputs.size()) return -1;
  const ValueView& value = inputs[static_cast<size_t>(index)];
  return value.is_int() ? static_cast<int32_t>(value.number()) : -1;
}

// The argument as a custom class; null if it is none.
template <typename Class>
const Class* find(Inputs inputs) {
  const c10::ClassType* wanted = c10::getCustomClassType<c10::intrusive_ptr<Class>>().get();
  for (const ValueView& value : inputs) {
    if (const void* object = value.object_of(wanted)) return static_cast<const Class*>(object);
  }
  return nullptr;
}

void describe_data(const CollectiveOp& op, Inputs inputs, int32_t group_size,
                   wire::CollectiveEnqueue& call) {
  if (op.function == wire::function::kBarrier) {
    call.bytes = 0;
    call.count = 0;
    return;
  }
  Sum sum = sum_of(inputs, op.input);
  int64_t times = 1;
  if (sum.tensors == 0 && op.output >= 0) {
    // Only the root of a scatter has an input: elsewhere it is the own part times the ranks.
    sum = sum_of(inputs, op.output);
    times = group_size;
  }
  if (!sum.known || times < 0) return;
  call.bytes = sum.bytes * times;
  call.count = sum.count * times;
  call.data_type = sum.data_type;
}

}  // namespace

void describe_call(const CoreApi& core, const CollectiveOp& op, const at::RecordFunction& function,
                   wire::Record& record) noexcept {
  wire::CollectiveEnqueue& call = record.enqueue;
  call = {};
  call.function = op.function;
  call.bytes = -1;
  call.count = -1;
  call.root = -1;
  call.peer = -1;
  try {
    const Inputs inputs = inputs_of(function);
    int32_t group_size = -1;
    if (const c10d::ProcessGroup* group = find<c10d::ProcessGroup>(inputs)) {
      const GroupInfo info = describe_group(core, *group);
      call.group = info.hash;
      call.backend = info.backend;
      group_size = info.size;
    }
    if (const c10d::ReduceOp* reduction = find<c10d::ReduceOp>(inputs)) {
      call.reduction = reduction_of(reduction->op_);
    }
    call.root = rank_at(inputs, op.root);
    call.peer = rank_at(inputs, op.peer);
    describe_data(op, inputs, group_size, call);
  } catch (...) {
    // Missing values stay "not known".
  }
}

}  // namespace dprof::inject::torch_source
