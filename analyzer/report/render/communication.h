// SPDX-License-Identifier: Apache-2.0
// What is said of communication beyond the single collectives: overlap, DDP's buckets, the cost of
// a transfer by its size. Each is "" where there is nothing to show.
#pragma once

#include <string>

#include "analyzer/report/render/layout.h"
#include "analyzer/report/render/text.h"

namespace dprof::analyzer {

[[nodiscard]] std::string overlap_section(const Report& report, const TextOptions& options,
                                          const Painter& paint);
[[nodiscard]] std::string bucket_section(const Report& report, const TextOptions& options,
                                         const Painter& paint);
[[nodiscard]] std::string link_section(const Report& report, const TextOptions& options,
                                       const Painter& paint);

}  // namespace dprof::analyzer
