// SPDX-License-Identifier: Apache-2.0
// What is said of communication beyond the single collectives: overlap, DDP's buckets, slow groups,
// the cost of a transfer by its size. Each is "" where there is nothing to show.
#pragma once

#include <string>

#include "analyzer/render/layout.h"
#include "analyzer/render/text.h"

namespace dprof::analyzer {

[[nodiscard]] std::string overlap_section(const Report& report, const TextOptions& options,
                                          const Painter& paint);
[[nodiscard]] std::string bucket_section(const Report& report, const TextOptions& options,
                                         const Painter& paint);
// Slow groups; what a transfer costs by its size only where it was asked for.
[[nodiscard]] std::string link_section(const Report& report, const TextOptions& options,
                                       const Painter& paint);
[[nodiscard]] bool has_slow_links(const Report& report);

}  // namespace dprof::analyzer
