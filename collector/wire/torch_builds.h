// SPDX-License-Identifier: Apache-2.0
// The builds of libtorch_cpu.so that scripts/torch-matrix measured: PyPI's wheels. A process with
// one of them gets libdprof_torch.so at once; any other build is probed first.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace dprof::wire {

// For tests: "none" = no build is known; "all" = every build is; "2.N" = assume the layout of 2.N.
inline constexpr char kTorchTrustVariable[] = "DPROF_TORCH_TRUST";
inline constexpr char kTorchLayoutVariable[] = "DPROF_TORCH_LAYOUT";

struct TorchBuild {
  std::string_view release;
  std::string_view build_id;
};

inline constexpr TorchBuild kTorchBuilds[] = {
    {"2.6.0", "855a805e42e626f90203305127ecc88f0d1a2433"},   // x86_64, cu124
    {"2.7.1", "4ddb6266a795ff37436ad7308ea05aae00c4d233"},   // x86_64, cu126
    {"2.8.0", "dc83b47a91081e7cbc7a1754a3d162fdffa6f000"},   // x86_64, cu128
    {"2.9.1", "f7309fe176577e0724053bcea2485231f04f2eab"},   // x86_64, cu128
    {"2.10.0", "ef521b4ad16b0de70df3067330e11c4aff1a69e0"},  // x86_64, cu128
    {"2.11.0", "274ade0e6dcd7e46eea36c8a266340f254d817a4"},  // x86_64, cu130
    {"2.12.1", "0203c0697b4900c080a8fdb1c20065b936a8faa9"},  // x86_64, cu130
    {"2.13.0", "6e37ee1c79943564c4acfec06954c48035e60152"},  // x86_64, cu130
    {"2.14.1", "75c66d5bbd330ab1bc18cd4aab92b62da3c45829"},  // x86_64, cu130
    {"2.15.0", "52c133b04b74777fc9c13ee0e808688c8a62214e"},  // x86_64, cu132
};

[[nodiscard]] constexpr bool is_known_torch(std::string_view build_id) noexcept {
  return std::any_of(std::begin(kTorchBuilds), std::end(kTorchBuilds),
                     [build_id](const TorchBuild& one) { return one.build_id == build_id; });
}

}  // namespace dprof::wire
