// SPDX-License-Identifier: Apache-2.0
extern "C" int load_through_own_runpath();

int main() { return load_through_own_runpath(); }
