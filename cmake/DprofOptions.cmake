# SPDX-License-Identifier: Apache-2.0
# What can be switched, and what was found: ON needs it, OFF leaves it out, AUTO takes it where it is there.

foreach(part TORCH CUDA NCCL DW QT MPI PORTABLE)
  set(DPROF_WITH_${part} AUTO CACHE STRING "${part}: ON needs it, OFF leaves it out, AUTO takes it where it is found")
  set_property(CACHE DPROF_WITH_${part} PROPERTY STRINGS AUTO ON OFF)
endforeach()
set(DPROF_SANITIZE "" CACHE STRING "Sanitizers, as in -fsanitize=…")
option(DPROF_WERROR "Warnings are errors (CI)" OFF)
option(DPROF_BENCH "Build the benchmarks" ON)
option(DPROF_ALL_TESTS "Build all tests; OFF: only those that a sanitized build cannot run as a whole (scripts/test)" ON)
option(DPROF_DEBUG_INFO "Line tables for backtraces (up to a third more to build)" OFF)
set(DPROF_UNITY 0 CACHE STRING "So many sources of a folder are compiled together; 0: each alone")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/archive")

set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib")  # what is installed finds its libraries wherever it is put

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)  # needs both settings where a precompiled header is included
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;${CCACHE_PROGRAM}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
# gcc collects its garbage from 128 MB of heap on, again and again for sources of this size: a tenth of a compilation. From 512 MB
# on instead, where each core has 4 GB and more.
cmake_host_system_information(RESULT _memory_mb QUERY TOTAL_PHYSICAL_MEMORY)
cmake_host_system_information(RESULT _cores QUERY NUMBER_OF_LOGICAL_CORES)
math(EXPR _mb_per_core "${_memory_mb} / ${_cores}")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND _mb_per_core GREATER_EQUAL 4000)
  add_compile_options(--param=ggc-min-heapsize=524288)
endif()
if(DPROF_DEBUG_INFO)  # line tables are enough for a backtrace; beside the objects, so that linking does not copy them
  add_compile_options(-g1 -gsplit-dwarf)
endif()

if(DPROF_SANITIZE)
  add_compile_options(-fsanitize=${DPROF_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -Og)
  if(NOT DPROF_DEBUG_INFO)  # functions are named without; lines cost a tenth of the build
    add_compile_options(-g0)
  endif()
  add_link_options(-fsanitize=${DPROF_SANITIZE})
  # Most of the time that such a build takes goes into these checks. AddressSanitizer says where a null pointer faults, or one that
  # points elsewhere; alignment is checked where memory is shared with other processes (collector).
  if(DPROF_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize=null,alignment,vptr,object-size,pointer-overflow,nonnull-attribute,returns-nonnull-attribute)
  endif()
endif()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(GTest REQUIRED)
include(GoogleTest)

# Decides DPROF_HAVE_<part> from the option and from what was found, and says so.
function(dprof_decide part found package)
  set(have OFF)
  if(DPROF_WITH_${part} STREQUAL "OFF")
    message(STATUS "dprof: ${part} off (DPROF_WITH_${part}=OFF)")
  elseif(found)
    set(have ON)
    message(STATUS "dprof: ${part} on")
  elseif(DPROF_WITH_${part} STREQUAL "AUTO")
    message(STATUS "dprof: ${part} off: not found (needs ${package})")
  else()
    message(FATAL_ERROR "DPROF_WITH_${part}=ON, but it was not found.\nhint: install ${package} (scripts/setup does)")
  endif()
  set(DPROF_HAVE_${part} ${have} PARENT_SCOPE)
endfunction()

set(LibTorch_FOUND OFF)
if(NOT DPROF_WITH_TORCH STREQUAL "OFF")
  find_package(LibTorch QUIET)
endif()
dprof_decide(TORCH "${LibTorch_FOUND}" "the PyPI wheel torch==2.11.0")
dprof_decide(CUDA "${LibTorch_CUDA_FOUND}" "the PyPI wheels nvidia-cuda-runtime and nvidia-cuda-cupti, or a CUDA toolkit")
dprof_decide(NCCL "${LibTorch_NCCL_FOUND}" "the PyPI wheel nvidia-nccl-cu13")

find_path(LIBDW_INCLUDE_DIR elfutils/libdwfl.h)
find_library(LIBDW_LIBRARY dw)
set(_libdw_found OFF)
if(LIBDW_INCLUDE_DIR AND LIBDW_LIBRARY)
  set(_libdw_found ON)
endif()
dprof_decide(DW "${_libdw_found}" "the Debian package libdw-dev")

if(NOT DPROF_WITH_QT STREQUAL "OFF")
  find_package(Qt6 6.4 QUIET COMPONENTS Core Gui Widgets Svg Test)
endif()
dprof_decide(QT "${Qt6_FOUND}" "the Debian packages qt6-base-dev and qt6-svg-dev")

# A compiler wrapper may be there without the headers (Debian's openmpi-bin alone), at which find_package(MPI) ends with an error.
set(MPI_CXX_SKIP_MPICXX ON)  # MPI's C interface is all that is used
find_program(DPROF_MPICXX NAMES mpicxx mpic++)
if(DPROF_MPICXX AND NOT DPROF_WITH_MPI STREQUAL "OFF")
  file(WRITE "${CMAKE_BINARY_DIR}/CMakeFiles/has_mpi.cpp" "#include <mpi.h>\n")
  execute_process(COMMAND "${DPROF_MPICXX}" -E "${CMAKE_BINARY_DIR}/CMakeFiles/has_mpi.cpp"
                  RESULT_VARIABLE _mpi_failed OUTPUT_QUIET ERROR_QUIET)
  if(_mpi_failed EQUAL 0)
    find_package(MPI QUIET COMPONENTS CXX)
  endif()
endif()
dprof_decide(MPI "${MPI_CXX_FOUND}" "the Debian package libopenmpi-dev, or another MPI")

# dprof_external(NAME WHAT ARCHIVE…): what links external_NAME gets WHAT, the library of this machine. A target with the property
# DPROF_PORTABLE (packaging) gets the archives instead: it runs where nothing is installed.
set(DPROF_MISSING_ARCHIVES "")
function(dprof_external name what)
  set(archives "")
  foreach(archive IN LISTS ARGN)
    if(TARGET ${archive})
      list(APPEND archives ${archive})
      continue()
    endif()
    find_library(DPROF_ARCHIVE_${archive} NAMES "lib${archive}.a")
    if(NOT DPROF_ARCHIVE_${archive})
      set(DPROF_MISSING_ARCHIVES ${DPROF_MISSING_ARCHIVES} "lib${archive}.a" PARENT_SCOPE)
    endif()
    list(APPEND archives "${DPROF_ARCHIVE_${archive}}")
  endforeach()
  add_library(external_${name}_archive INTERFACE)
  target_link_libraries(external_${name}_archive INTERFACE ${archives})
  add_library(external_${name} INTERFACE)
  target_link_libraries(external_${name} INTERFACE
    "$<IF:$<BOOL:$<TARGET_PROPERTY:DPROF_PORTABLE>>,external_${name}_archive,${what}>")
endfunction()
add_library(external_fmt_built STATIC EXCLUDE_FROM_ALL packaging/fmt/format.cpp)  # Debian has no archive of it
dprof_external(fmt fmt::fmt external_fmt_built)
dprof_external(sqlite SQLite::SQLite3 sqlite3)
dprof_external(zlib ZLIB::ZLIB z)
dprof_external(xxhash xxhash xxhash)
if(DPROF_HAVE_DW)
  dprof_external(dw "${LIBDW_LIBRARY}" dw elf lzma bz2 z)
endif()

set(_portable_found OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT DPROF_MISSING_ARCHIVES AND NOT DPROF_SANITIZE)
  set(_portable_found ON)
endif()
dprof_decide(PORTABLE "${_portable_found}" "gcc, no sanitizer, and the Debian packages with ${DPROF_MISSING_ARCHIVES}")
