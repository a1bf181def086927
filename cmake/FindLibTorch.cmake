# SPDX-License-Identifier: Apache-2.0
# LibTorch from PyPI's wheel, without the CUDA toolkit that the wheel's own TorchConfig.cmake asks for.
#
# Input    DPROF_TORCH_VENV  virtual environment that holds the wheel (default: that of scripts/setup)
# Output   LibTorch_FOUND, LibTorch_VERSION, LibTorch_BUILD_ID, LibTorch_LIBRARY_DIRS (for run paths)
#          LibTorch_CUDA_FOUND, LibTorch_NCCL_FOUND: the headers (and libtorch_cuda) are there too
# Targets  LibTorch::cpu, LibTorch::nvtx (headers), LibTorch::nccl (headers, ProcessGroupNCCL)

if(NOT DPROF_TORCH_VENV)
  execute_process(COMMAND "${CMAKE_CURRENT_LIST_DIR}/../scripts/setup" --print
                  OUTPUT_VARIABLE _venv OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(DPROF_TORCH_VENV "${_venv}" CACHE PATH "Virtual environment with the torch wheel" FORCE)
endif()
file(GLOB _site "${DPROF_TORCH_VENV}/lib/python3*/site-packages")
set(_torch "${_site}/torch")

find_path(LibTorch_INCLUDE_DIR ATen/ATen.h PATHS "${_torch}/include" NO_DEFAULT_PATH)
find_library(LibTorch_CPU_LIBRARY torch_cpu PATHS "${_torch}/lib" NO_DEFAULT_PATH)
find_library(LibTorch_C10_LIBRARY c10 PATHS "${_torch}/lib" NO_DEFAULT_PATH)
find_library(LibTorch_CUDA_LIBRARY torch_cuda PATHS "${_torch}/lib" NO_DEFAULT_PATH)
find_library(LibTorch_C10_CUDA_LIBRARY c10_cuda PATHS "${_torch}/lib" NO_DEFAULT_PATH)
find_path(LibTorch_CUDA_INCLUDE_DIR nvtx3/nvToolsExt.h PATHS "${_site}/nvidia/cu13/include" NO_DEFAULT_PATH)
find_path(LibTorch_NCCL_INCLUDE_DIR nccl.h PATHS "${_site}/nvidia/nccl/include" NO_DEFAULT_PATH)
find_path(LibTorch_GLOO_INCLUDE_DIR gloo/context.h)  # declarations only: Gloo itself is inside libtorch_cpu

if(EXISTS "${_torch}/version.py")
  file(STRINGS "${_torch}/version.py" _line REGEX "^__version__ = ")
  string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+[^']*" LibTorch_VERSION "${_line}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS LibTorch_CPU_LIBRARY LibTorch_C10_LIBRARY LibTorch_INCLUDE_DIR LibTorch_GLOO_INCLUDE_DIR
  VERSION_VAR LibTorch_VERSION)

set(LibTorch_CUDA_FOUND OFF)
set(LibTorch_NCCL_FOUND OFF)
if(LibTorch_CUDA_INCLUDE_DIR AND LibTorch_CUDA_LIBRARY AND LibTorch_C10_CUDA_LIBRARY)
  set(LibTorch_CUDA_FOUND ON)
endif()
if(LibTorch_NCCL_INCLUDE_DIR)
  set(LibTorch_NCCL_FOUND ON)
endif()

if(LibTorch_FOUND AND NOT TARGET LibTorch::cpu)
  execute_process(COMMAND readelf -n "${LibTorch_CPU_LIBRARY}" OUTPUT_VARIABLE _notes ERROR_QUIET)
  string(REGEX MATCH "Build ID: ([0-9a-f]+)" _match "${_notes}")
  set(LibTorch_BUILD_ID "${CMAKE_MATCH_1}")
  # libtorch_cpu itself needs these two NVIDIA libraries at run time, on machines without a GPU as well.
  set(LibTorch_LIBRARY_DIRS "${_torch}/lib" "${_site}/nvidia/cu13/lib" "${_site}/nvidia/nccl/lib")

  add_library(LibTorch::c10 SHARED IMPORTED)
  set_target_properties(LibTorch::c10 PROPERTIES IMPORTED_LOCATION "${LibTorch_C10_LIBRARY}")
  add_library(LibTorch::cpu SHARED IMPORTED)
  # NDEBUG whatever the build type: the wheel was built with it, and at::RecordFunction has a member more without.
  set_target_properties(LibTorch::cpu PROPERTIES
    IMPORTED_LOCATION "${LibTorch_CPU_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES
      "${LibTorch_INCLUDE_DIR};${LibTorch_INCLUDE_DIR}/torch/csrc/api/include;${LibTorch_GLOO_INCLUDE_DIR}"
    INTERFACE_COMPILE_DEFINITIONS "NDEBUG;USE_C10D;USE_C10D_GLOO;USE_DISTRIBUTED"
    INTERFACE_LINK_LIBRARIES "LibTorch::c10"
    INTERFACE_LINK_OPTIONS "LINKER:--allow-shlib-undefined")
  if(LibTorch_CUDA_INCLUDE_DIR)
    add_library(LibTorch::nvtx INTERFACE IMPORTED)
    set_target_properties(LibTorch::nvtx PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${LibTorch_CUDA_INCLUDE_DIR}")
  endif()
  if(LibTorch_CUDA_FOUND AND LibTorch_NCCL_FOUND)
    add_library(LibTorch::c10_cuda SHARED IMPORTED)
    set_target_properties(LibTorch::c10_cuda PROPERTIES IMPORTED_LOCATION "${LibTorch_C10_CUDA_LIBRARY}")
    add_library(LibTorch::nccl SHARED IMPORTED)
    set_target_properties(LibTorch::nccl PROPERTIES
      IMPORTED_LOCATION "${LibTorch_CUDA_LIBRARY}"
      INTERFACE_INCLUDE_DIRECTORIES "${LibTorch_CUDA_INCLUDE_DIR};${LibTorch_NCCL_INCLUDE_DIR}"
      INTERFACE_COMPILE_DEFINITIONS "USE_C10D_NCCL"
      INTERFACE_LINK_LIBRARIES "LibTorch::cpu;LibTorch::c10_cuda")
  endif()
endif()
