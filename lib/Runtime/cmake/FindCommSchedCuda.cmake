# Finds nvcc, CUDA's runtime and NCCL for the GPU backend. They come from CUDA's
# usual places, or else from NVIDIA's wheels in the active virtual environment
# or in the repository's, which scripts/setup.sh can install. No GPU and no
# driver is needed. Sets
#
#   COMMSCHED_CUDA_FOUND      whether all of the following is there
#   COMMSCHED_NVCC            the compiler
#   COMMSCHED_CUDA_INCLUDE_DIR, COMMSCHED_CUDART_LIBRARY
#   NCCL_INCLUDE_DIR, NCCL_LIBRARY

# What an earlier configuration found may be gone, such as an environment.
foreach(found COMMSCHED_NVCC COMMSCHED_CUDA_INCLUDE_DIR COMMSCHED_CUDART_LIBRARY
    NCCL_INCLUDE_DIR NCCL_LIBRARY)
  if(${found} AND NOT EXISTS "${${found}}")
    unset(${found} CACHE)
  endif()
endforeach()

file(GLOB COMMSCHED_NVIDIA_WHEELS
  $ENV{VIRTUAL_ENV}/lib/python3*/site-packages/nvidia
  ${CMAKE_CURRENT_LIST_DIR}/../../../.venv/lib/python3*/site-packages/nvidia)
set(COMMSCHED_CUDA_ROOTS $ENV{CUDA_HOME} $ENV{CUDA_PATH} /usr/local/cuda)
set(COMMSCHED_NCCL_ROOTS $ENV{NCCL_HOME} ${COMMSCHED_CUDA_ROOTS})
foreach(folder ${COMMSCHED_NVIDIA_WHEELS})
  list(APPEND COMMSCHED_CUDA_ROOTS ${folder}/cu13)
  list(APPEND COMMSCHED_NCCL_ROOTS ${folder}/nccl)
endforeach()

find_program(COMMSCHED_NVCC nvcc HINTS ${COMMSCHED_CUDA_ROOTS}
  PATH_SUFFIXES bin)
# Header, library and compiler are of one release.
get_filename_component(COMMSCHED_CUDA_ROOT "${COMMSCHED_NVCC}" REALPATH)
get_filename_component(COMMSCHED_CUDA_ROOT "${COMMSCHED_CUDA_ROOT}/../.."
  ABSOLUTE)
# The names with a version are those of the wheels, which have no others.
find_path(COMMSCHED_CUDA_INCLUDE_DIR cuda_runtime_api.h
  HINTS ${COMMSCHED_CUDA_ROOT} PATH_SUFFIXES include)
find_library(COMMSCHED_CUDART_LIBRARY NAMES cudart libcudart.so.13
  HINTS ${COMMSCHED_CUDA_ROOT} PATH_SUFFIXES lib lib64)
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${COMMSCHED_NCCL_ROOTS}
  PATH_SUFFIXES include)
find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2
  HINTS ${COMMSCHED_NCCL_ROOTS} PATH_SUFFIXES lib lib64)
mark_as_advanced(COMMSCHED_NVCC COMMSCHED_CUDA_INCLUDE_DIR
  COMMSCHED_CUDART_LIBRARY NCCL_INCLUDE_DIR NCCL_LIBRARY)

if(COMMSCHED_NVCC AND COMMSCHED_CUDA_INCLUDE_DIR AND COMMSCHED_CUDART_LIBRARY
   AND NCCL_INCLUDE_DIR AND NCCL_LIBRARY)
  set(COMMSCHED_CUDA_FOUND ON)
else()
  set(COMMSCHED_CUDA_FOUND OFF)
endif()
