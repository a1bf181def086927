// SPDX-License-Identifier: Apache-2.0
// Function names, as linkers and as people write them.
#pragma once

#include <string>
#include <string_view>

namespace dprof {

// "_Z3addPfi" → "add(float*, int)" (Itanium C++ ABI, 5.1); other names unchanged.
[[nodiscard]] std::string demangled(std::string_view name);

// A kernel's name without its uninformative parts: a leading "void ", parameters, PyTorch's and
// unnamed namespaces. "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>".
[[nodiscard]] std::string kernel_title(std::string_view name);

}  // namespace dprof
