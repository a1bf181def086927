// SPDX-License-Identifier: Apache-2.0
#include "cli/mpi/launcher.h"

#include <charconv>
#include <string_view>

namespace dprof::cli {
namespace {

std::optional<size_t> number_in(const char* text) {
  if (text == nullptr) return std::nullopt;
  const std::string_view digits = text;
  size_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<Launched> find_launched(const std::function<const char*(const char*)>& variable) {
  constexpr const char* kPairs[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                       {"PMI_RANK", "PMI_SIZE"},
                                       {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"}};
  for (const auto& [number, of] : kPairs) {
    const std::optional<size_t> own = number_in(variable(number));
    const std::optional<size_t> all = number_in(variable(of));
    if (own && all && *own < *all) return Launched{*own, *all};
  }
  return std::nullopt;
}

}  // namespace dprof::cli
