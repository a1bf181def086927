# SPDX-License-Identifier: Apache-2.0
# Writes a header with a hash of the sources that a digest depends on, so that kept digests of an
# older program are not used. Called by the build: -DFILES=a;b;c -DOUT=header
set(sum "")
foreach(file IN LISTS FILES)
  file(SHA256 "${file}" one)
  string(APPEND sum "${one}")
endforeach()
string(SHA256 sum "${sum}")
string(SUBSTRING "${sum}" 0 16 sum)
file(CONFIGURE OUTPUT "${OUT}" CONTENT "// Made by the build.\n#pragma once\n#define DPROF_DIGEST_FINGERPRINT \"${sum}\"\n")
