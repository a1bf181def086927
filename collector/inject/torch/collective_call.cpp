// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/torch/collective_call.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/custom_class.h>
#include <ATen/core/ivalue.h>

#include <torch/csrc/distributed/c10d/Types.hpp>

#include "collector/inject/torch/process_groups.h"
#include "collector/wire/enum_values.h"

namespace dprof::inject::torch_source {
namespace {

using Inputs = c10::ArrayRef<const c10::IValue>;

uint8_t data_type_of(c10::ScalarType type) noexcept {
  using namespace wire::data_type;
  switch (type) {
    case c10::ScalarType::Byte:
      return kUint8;
    case c10::ScalarType::Char:
      return kInt8;
    case c10::ScalarType::Short:
      return kInt16;
    case c10::ScalarType::Int:
      return kInt32;
    case c10::ScalarType::Long:
      return kInt64;
    case c10::ScalarType::Half:
      return kFloat16;
    case c10::ScalarType::BFloat16:
      return kBfloat16;
    case c10::ScalarType::Float:
      return kFloat32;
    case c10::ScalarType::Double:
      return kFloat64;
    case c10::ScalarType::Bool:
      return kBool;
    case c10::ScalarType::ComplexFloat:
      return kComplex64;
    case c10::ScalarType::ComplexDouble:
      return kComplex128;
    case c10::ScalarType::Float8_e5m2:
    case c10::ScalarType::Float8_e4m3fn:
    case c10::ScalarType::Float8_e5m2fnuz:
    case c10::ScalarType::Float8_e4m3fnuz:
      return kFloat8;
    default:
      return kUnknown;
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

  void add(const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    // A subclass may answer from Python: that is not for a hook to set off.
    if (tensor.unsafeGetTensorImpl()->is_python_dispatch() || tensor.is_sparse()) {
      known = false;
      return;
    }
    ++tensors;
    count += tensor.numel();
    bytes += static_cast<int64_t>(tensor.numel() * tensor.itemsize());
    data_type = data_type_of(tensor.scalar_type());
  }

  void add(const c10::IValue& value) {
    if (value.isTensor()) {
      add(value.toTensor());
    } else if (value.isList()) {
      for (const c10::IValue& item : value.toListRef()) add(item);
    } else {
      known = false;
    }
  }
};

Sum sum_of(Inputs inputs, int8_t index) {
  Sum sum;
  if (index < 0 || static_cast<size_t>(index) >= inputs.size()) {
    sum.known = false;
    return sum;
  }
  sum.add(inputs[static_cast<size_t>(index)]);
  return sum;
}

int32_t rank_at(Inputs inputs, int8_t index) {
  if (index < 0 || static_cast<size_t>(index) >= inputs.size()) return -1;
  const c10::IValue& value = inputs[static_cast<size_t>(index)];
  return value.isInt() ? static_cast<int32_t>(value.toInt()) : -1;
}

// The argument of a custom class, without an exception when it is another one.
template <typename Class>
c10::intrusive_ptr<Class> find(Inputs inputs) {
  const c10::Type* wanted = c10::getCustomClassType<c10::intrusive_ptr<Class>>().get();
  for (const c10::IValue& value : inputs) {
    if (value.isObject() && value.toObjectRef().type().get() == wanted) {
      return value.toCustomClass<Class>();
    }
  }
  return {};
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
    const Inputs inputs = function.inputs();
    int32_t group_size = -1;
    if (const auto group = find<c10d::ProcessGroup>(inputs)) {
      const GroupInfo info = describe_group(core, group);
      call.group = info.hash;
      call.backend = info.backend;
      group_size = info.size;
    }
    if (const auto reduction = find<c10d::ReduceOp>(inputs)) {
      call.reduction = reduction_of(reduction->op_);
    }
    call.root = rank_at(inputs, op.root);
    call.peer = rank_at(inputs, op.peer);
    describe_data(op, inputs, group_size, call);
  } catch (...) {
    // What is missing stays "not known".
  }
}

}  // namespace dprof::inject::torch_source
