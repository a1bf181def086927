// SPDX-License-Identifier: Apache-2.0
// A libnccl.so.2 that says it is an NCCL without a usable profiler plugin.

extern "C" __attribute__((visibility("default"))) int ncclGetVersion(int* version) {
  *version = 22505;
  return 0;
}
