// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/range_names.h"

#include <algorithm>

namespace dprof::analyzer {

using schema::RangeCategory;

RangeKind kind_of(RangeCategory category, std::string_view name) {
  if (category == RangeCategory::kNvtxMark) return {RangeClass::kMoment};
  if (category == RangeCategory::kAutograd) return {RangeClass::kAutograd};
  if (std::ranges::find(kWaitNames, name) != std::end(kWaitNames)) return {RangeClass::kWait};
  if (std::ranges::any_of(kCallPrefixes, [&](std::string_view p) { return name.starts_with(p); }))
    return {RangeClass::kCall};
  if (category == RangeCategory::kOp) return {RangeClass::kOp};
  const bool marks = category == RangeCategory::kUser || category == RangeCategory::kNvtx;
  const schema::Marker marker = schema::marker_of(name);
  if (marker != schema::Marker::kNone)
    return {RangeClass::kMarker, marker, marks && marker != schema::Marker::kStep};
  if (name == schema::kMicroStepName) return {RangeClass::kHolder, schema::Marker::kNone, marks};
  return {RangeClass::kNamed, schema::Marker::kNone, marks};
}

}  // namespace dprof::analyzer
