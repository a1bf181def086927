// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/kineto/words.h"

#include <string>

#include "analyzer/import/kineto/key_table.h"

namespace dprof::analyzer::kineto {
namespace {

using schema::Backend;
using schema::DataType;
using schema::Function;
using schema::GpuActivityKind;
using schema::Reduction;

constexpr Named<Topic> kTopics[] = {
    {"cpu_op", Topic::kOp},
    {"Operator", Topic::kOp},
    {"user_annotation", Topic::kUser},
    {"python_function", Topic::kPython},
    {"cuda_runtime", Topic::kApi},
    {"cuda_driver", Topic::kApi},
    {"Runtime", Topic::kApi},
    {"hip_runtime", Topic::kApi},
    {"hip_driver", Topic::kApi},
    {"xpu_runtime", Topic::kApi},
    {"xpu_driver", Topic::kApi},
    {"mtia_runtime", Topic::kApi},
    {"privateuse1_runtime", Topic::kApi},
    {"privateuse1_driver", Topic::kApi},
    {"overhead", Topic::kOverhead},
    {"kernel", Topic::kKernel},
    {"Kernel", Topic::kKernel},
    {"gpu_memcpy", Topic::kMemcpy},
    {"Memcpy", Topic::kMemcpy},
    {"gpu_memset", Topic::kMemset},
    {"Memset", Topic::kMemset},
    {"cuda_sync", Topic::kSync},
    {"gpu_user_annotation", Topic::kGpuAnnotation},
    {"Trace", Topic::kProfilerSpan},
    {"ac2g", Topic::kLaunchFlow},
    {"async", Topic::kLaunchFlow},
    {"fwdbwd", Topic::kLaunchFlow},
    {"forward_backward", Topic::kLaunchFlow},
};

constexpr Named<DataType> kTypes[] = {
    {"Byte", DataType::kUint8},
    {"unsigned char", DataType::kUint8},
    {"uint8", DataType::kUint8},
    {"Char", DataType::kInt8},
    {"signed char", DataType::kInt8},
    {"int8", DataType::kInt8},
    {"Short", DataType::kInt16},
    {"short", DataType::kInt16},
    {"short int", DataType::kInt16},
    {"Int", DataType::kInt32},
    {"int", DataType::kInt32},
    {"Long", DataType::kInt64},
    {"long", DataType::kInt64},
    {"long int", DataType::kInt64},
    {"Half", DataType::kFloat16},
    {"c10::Half", DataType::kFloat16},
    {"BFloat16", DataType::kBfloat16},
    {"c10::BFloat16", DataType::kBfloat16},
    {"Float", DataType::kFloat32},
    {"float", DataType::kFloat32},
    {"Double", DataType::kFloat64},
    {"double", DataType::kFloat64},
    {"Bool", DataType::kBool},
    {"bool", DataType::kBool},
    {"ComplexFloat", DataType::kComplex64},
    {"c10::complex<float>", DataType::kComplex64},
    {"ComplexDouble", DataType::kComplex128},
    {"c10::complex<double>", DataType::kComplex128},
};

struct FunctionWord {
  std::string_view word;
  Function function;
};

// In this order, because the longer words contain the shorter ones.
constexpr FunctionWord kFunctionWords[] = {
    {"allreduce", Function::kAllReduce}, {"reducescatter", Function::kReduceScatter},
    {"allgather", Function::kAllGather}, {"alltoall", Function::kAllToAll},
    {"broadcast", Function::kBroadcast}, {"barrier", Function::kBarrier},
    {"gather", Function::kGather},       {"scatter", Function::kScatter},
    {"reduce", Function::kReduce},
};

}  // namespace

Topic topic_of(std::string_view category) {
  static const KeyTable<Topic, 64> kTable(kTopics);
  return kTable.find(category).value_or(Topic::kOther);
}

bool is_autograd_name(std::string_view name) {
  if (name.starts_with("autograd::engine::evaluate_function: ")) return true;
  if (name.ends_with("torch::autograd::AccumulateGrad")) return true;
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.remove_suffix(1);
  return name.ends_with("Backward");
}

GpuActivityKind copy_kind(std::string_view name) {
  const auto says = [&](std::string_view word) {
    return name.find(word) != std::string_view::npos;
  };
  if (says("HtoD") || says("HostToDevice")) return GpuActivityKind::kMemcpyH2d;
  if (says("DtoH") || says("DeviceToHost")) return GpuActivityKind::kMemcpyD2h;
  return GpuActivityKind::kMemcpyD2d;
}

std::optional<Function> function_of(std::string_view name) {
  name = name.substr(0, name.find('('));
  std::string plain;
  for (const char c : name) {
    const char low = static_cast<char>(c | 0x20);
    if (low >= 'a' && low <= 'z') plain += low;
  }
  for (const FunctionWord& entry : kFunctionWords) {
    if (plain.find(entry.word) != std::string::npos) return entry.function;
  }
  const bool sends = plain.find("send") != std::string::npos;
  const bool receives = plain.find("recv") != std::string::npos;
  if (sends == receives) return std::nullopt;  // neither, or NCCL's one kernel for both
  return sends ? Function::kSend : Function::kRecv;
}

bool is_communication_kernel(std::string_view name) {
  name = name.substr(0, name.find('('));
  for (const std::string_view word :
       {"ncclKernel", "ncclDevKernel", "rcclKernel", "rcclGenericKernel", "mscclKernel",
        "ncclSymDevKernel", "ncclSymkDevKernel"}) {
    if (name.find(word) != std::string_view::npos) return true;
  }
  return false;
}

Reduction reduction_of(Function function, std::string_view kernel) {
  if (function != Function::kAllReduce && function != Function::kReduce &&
      function != Function::kReduceScatter) {
    return Reduction::kNone;
  }
  kernel = kernel.substr(0, kernel.find('('));
  const auto says = [&](std::string_view word) {
    return kernel.find(word) != std::string_view::npos;
  };
  if (says("_Sum_")) return Reduction::kSum;
  if (says("_Avg_")) return Reduction::kAvg;
  if (says("_Prod_")) return Reduction::kProduct;
  if (says("_Min_")) return Reduction::kMin;
  if (says("_Max_")) return Reduction::kMax;
  return Reduction::kNone;
}

DataType data_type_of(std::string_view name) {
  static const KeyTable<DataType, 128> kTable(kTypes);
  if (name.find("Float8") != std::string_view::npos) return DataType::kFloat8;
  return kTable.find(name).value_or(DataType::kUnknown);
}

Backend backend_of(std::string_view name) {
  const auto says = [&](std::string_view word) {
    return name.find(word) != std::string_view::npos;
  };
  const bool nccl = says("nccl");
  const bool gloo = says("gloo");
  if (nccl != gloo) return nccl ? Backend::kNccl : Backend::kGloo;
  return !nccl && says("mpi") ? Backend::kMpi : Backend::kUnknown;
}

}  // namespace dprof::analyzer::kineto
