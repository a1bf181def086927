// SPDX-License-Identifier: Apache-2.0
// What leaves the shared object; everything else has hidden visibility.
#pragma once

#define DPROF_EXPORT extern "C" __attribute__((visibility("default")))
