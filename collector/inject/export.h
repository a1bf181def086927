// SPDX-License-Identifier: Apache-2.0
// Exports a symbol; everything else has hidden visibility.
#pragma once

#define DPROF_EXPORT extern "C" __attribute__((visibility("default")))
