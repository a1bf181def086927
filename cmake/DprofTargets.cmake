# SPDX-License-Identifier: Apache-2.0
# One function per kind of target, so that warnings, include roots and test settings are said once.

set(DPROF_WARNINGS -Wall -Wextra -Wconversion -Wshadow=local -Wno-missing-field-initializers)
if(DPROF_WERROR)
  list(APPEND DPROF_WARNINGS -Werror)
endif()

function(dprof_settings target)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_compile_options(${target} PRIVATE ${DPROF_WARNINGS})
endfunction()

# dprof_library(name SOURCES … LINK …): a static library of one module.
function(dprof_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC ${arg_LINK})
  dprof_settings(${name})
endfunction()

# dprof_program(name SOURCES … LINK …): an executable in build/<preset>/bin.
function(dprof_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK})
  dprof_settings(${name})
endfunction()

# dprof_test(name SOURCES … LINK … [TIMEOUT s] [LABELS …] [PATHS_IN …] [SINGLE_THREADED]): a GoogleTest program; each case is
# one CTest test. SINGLE_THREADED: neither the test nor what it tests starts a thread, so ThreadSanitizer is not asked.
# The sources of PATHS_IN know DPROF_SOURCE_DIR, DPROF_BIN_DIR and DPROF_LIB_DIR; the others do not, so that ccache finds
# their objects again in another clone.
function(dprof_test name)
  cmake_parse_arguments(arg "SINGLE_THREADED" "TIMEOUT" "SOURCES;LINK;LABELS;PATHS_IN" ${ARGN})
  if(NOT BUILD_TESTING OR (arg_SINGLE_THREADED AND DPROF_SANITIZE MATCHES "thread"))
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/test_bin")
  dprof_settings(${name})
  # gcc 12 says these, at -O2, of libstdc++'s own vectors and strings that tests build on the spot.
  target_compile_options(${name} PRIVATE -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow)
  if(DPROF_SANITIZE)  # a test's own code need not be fast: unoptimized, it compiles in two thirds of the time
    target_compile_options(${name} PRIVATE -O0)
  endif()
  set_source_files_properties(${arg_PATHS_IN} PROPERTIES COMPILE_DEFINITIONS
    "DPROF_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\";DPROF_BIN_DIR=\"${CMAKE_BINARY_DIR}/bin\";DPROF_LIB_DIR=\"${CMAKE_BINARY_DIR}/lib\"")
  gtest_discover_tests(${name} EXTRA_ARGS --gtest_shuffle DISCOVERY_TIMEOUT 60
    TEST_PREFIX "${name}." PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}")
endfunction()
