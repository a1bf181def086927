// SPDX-License-Identifier: Apache-2.0
// A library whose only purpose is to be found.
extern "C" __attribute__((visibility("default"))) int dprof_test_inner() { return 1; }
