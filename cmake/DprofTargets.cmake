# SPDX-License-Identifier: Apache-2.0
# One function per kind of target, so that warnings, include roots and test settings are said once.

set(DPROF_WARNINGS -Wall -Wextra -Wconversion -Wshadow=local -Wno-missing-field-initializers)
if(DPROF_SANITIZE)  # gcc 12 takes an empty std::optional for an uninitialized one where it instruments; release has the warning
  list(APPEND DPROF_WARNINGS -Wno-maybe-uninitialized)
endif()
if(DPROF_WERROR)
  list(APPEND DPROF_WARNINGS -Werror)
endif()

function(dprof_settings target)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
  get_target_property(type ${target} TYPE)
  if(DPROF_SANITIZE AND type STREQUAL "STATIC_LIBRARY")  # release looks at the same sources; a sixteenth of their time
    target_compile_options(${target} PRIVATE -w)
  else()
    target_compile_options(${target} PRIVATE ${DPROF_WARNINGS})
  endif()
  if(DPROF_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    # gcc takes a .cpp that is included for a header, whose types may not use file-local ones.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
    # At the folder's end, when the target has all of its sources.
    cmake_language(EVAL CODE "cmake_language(DEFER CALL dprof_compile_together ${target})")
  endif()
endfunction()

# Sources of one folder are compiled together, DPROF_UNITY of them at a time: most of a compilation is reading headers.
# File-local names are therefore unique in a folder (scripts/check sees to it). Sources with settings of their own, and those
# of DPROF_APART, are compiled alone.
function(dprof_compile_together target)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  set(folders "")
  foreach(source IN LISTS sources)
    get_source_file_property(apart "${source}" DPROF_APART)
    if(apart)
      set_source_files_properties("${source}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      continue()
    endif()
    get_filename_component(folder "${source}" ABSOLUTE)
    get_filename_component(folder "${folder}" DIRECTORY)
    string(MD5 key "${folder}")
    list(APPEND folders "${key}")
    list(APPEND in_${key} "${source}")
    file(RELATIVE_PATH name_${key} "${PROJECT_SOURCE_DIR}" "${folder}")
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(key IN LISTS folders)
    list(SORT in_${key})
    list(LENGTH in_${key} count)
    math(EXPR groups "(${count} + ${DPROF_UNITY} - 1) / ${DPROF_UNITY}")
    math(EXPR each "(${count} + ${groups} - 1) / ${groups}")  # no group of one file beside one of many
    string(REPLACE "/" "_" name "${name_${key}}")
    set(index 0)
    foreach(source IN LISTS in_${key})
      math(EXPR group "${index} / ${each}")
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${name}_${group}")
      math(EXPR index "${index} + 1")
    endforeach()
  endforeach()
endfunction()

# Headers that most sources read, compiled once for libraries and once for tests. A library goes without them where
# DPROF_COMMON_HEADERS is off (collector/inject is compiled with options of its own, trainer_harness has torch's fmt), and
# everything does in the preset dev, where each source has to include all that it needs.
set(DPROF_COMMON_HEADERS "${DPROF_UNITY}")
if(DPROF_UNITY)
  set(_common_headers <algorithm> <array> <chrono> <cmath> <filesystem> <functional> <map> <memory> <mutex> <optional> <set>
      <span> <string> <string_view> <thread> <unordered_map> <utility> <variant> <vector>)
  file(WRITE "${CMAKE_BINARY_DIR}/headers/library.cpp" "")
  file(WRITE "${CMAKE_BINARY_DIR}/headers/test.cpp" "int main() {}\n")
  add_library(dprof_library_headers STATIC EXCLUDE_FROM_ALL "${CMAKE_BINARY_DIR}/headers/library.cpp")
  target_link_libraries(dprof_library_headers PRIVATE fmt::fmt)
  target_precompile_headers(dprof_library_headers PRIVATE ${_common_headers} <fmt/format.h>)
  add_executable(dprof_test_headers EXCLUDE_FROM_ALL "${CMAKE_BINARY_DIR}/headers/test.cpp")
  target_link_libraries(dprof_test_headers PRIVATE GTest::gmock)
  target_compile_options(dprof_test_headers PRIVATE -O0)
  target_precompile_headers(dprof_test_headers PRIVATE ${_common_headers} <gmock/gmock.h> <gtest/gtest.h>)
endif()

# What scripts/build is asked for: a part is built with what it needs. `all` is everything.
add_custom_target(programs)  # what people use
add_custom_target(tests)     # what CTest runs, but for benches
add_custom_target(benches)
add_custom_target(portable)  # what scripts/wheel packs

# dprof_library(name SOURCES … LINK …): a static library of one module.
function(dprof_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC ${arg_LINK})
  dprof_settings(${name})
  if(DPROF_COMMON_HEADERS)
    target_precompile_headers(${name} REUSE_FROM dprof_library_headers)
  endif()
endfunction()

# dprof_program(name SOURCES … LINK …): an executable in build/<preset>/bin.
function(dprof_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK})
  dprof_settings(${name})
endfunction()

# dprof_test_program(name SOURCES … LINK …): an executable in build/<preset>/test_bin that tests start.
function(dprof_test_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  if(NOT BUILD_TESTING)
    return()
  endif()
  dprof_program(${name} SOURCES ${arg_SOURCES} LINK ${arg_LINK})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/test_bin")
  add_dependencies(tests ${name})
endfunction()

# dprof_test(name SOURCES … LINK … [TIMEOUT s] [LABELS …] [OPTIMIZED] [NOT_UNDER_TSAN]): a GoogleTest program;
# each case is a CTest test, of TIMEOUT seconds; under a sanitizer the program is one, and scripts/test_results counts its cases.
# NOT_UNDER_TSAN: it starts no thread, or only such as other tests start too, which run under ThreadSanitizer (the stages of an
# analysis: analyzer.analysis).
# OPTIMIZED: some cases need what a sanitized build lacks (libdprof.so, LibTorch, speed). The others are left to asan where it
# is built too (DPROF_ALL_TESTS).
# A core counts as two of CTest's processors (scripts/test): a case that computes takes two, one that mostly waits takes one.
function(dprof_test name)
  cmake_parse_arguments(arg "NOT_UNDER_TSAN;OPTIMIZED" "TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
  if(NOT BUILD_TESTING OR (arg_NOT_UNDER_TSAN AND DPROF_SANITIZE MATCHES "thread")
     OR NOT (arg_OPTIMIZED OR DPROF_ALL_TESTS))
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  if(NOT arg_LABELS)  # that of its module, which its name begins with: scripts/test --group
    set(label_analyzer analysis)
    set(label_inject collector)
    set(label_recorder collector)
    set(label_trainer_harness trainer)
    set(label_gui gui)
    string(REGEX REPLACE "\\..*$" "" module "${name}")
    set(arg_LABELS "${label_${module}}")
  endif()
  dprof_test_program(${name} SOURCES ${arg_SOURCES} LINK ${arg_LINK} dprof_test_paths GTest::gmock GTest::gtest_main)
  # gcc 12 says these, at -O2, of libstdc++'s own vectors and strings that tests build on the spot.
  target_compile_options(${name} PRIVATE -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow)
  # A test's own code need not be fast: it compiles in two thirds of the time so.
  target_compile_options(${name} PRIVATE -O0)
  if(DPROF_UNITY AND NOT arg_LINK MATCHES "Qt6::")  # Qt has programs compiled with -fPIC
    target_precompile_headers(${name} REUSE_FROM dprof_test_headers)
  endif()
  if(DPROF_SANITIZE)  # a process starts more slowly than most cases run: one for all
    add_test(NAME ${name} COMMAND ${name} --gtest_shuffle "--gtest_output=xml:${CMAKE_BINARY_DIR}/cases/${name}.xml")
    set_tests_properties(${name} PROPERTIES TIMEOUT 1800 LABELS "${arg_LABELS}" PROCESSORS 2)
  else()
    gtest_discover_tests(${name} EXTRA_ARGS --gtest_shuffle DISCOVERY_TIMEOUT 60
      TEST_PREFIX "${name}." PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}" PROCESSORS 2)
  endif()
endfunction()
