# Finds what CommSched is built from. MLIR and Boost are required; MPI, CUDA,
# NCCL, protozero and Python only widen what can be built and tested, and the
# summary says what was found.

# Debian keeps LLVM's package files outside CMake's default search path.
find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)

# Distributions name lit differently; the value that LLVM's config guesses does
# not exist on Debian.
if(NOT LLVM_EXTERNAL_LIT)
  find_program(COMMSCHED_LIT NAMES lit llvm-lit lit-22
               HINTS ${LLVM_TOOLS_BINARY_DIR})
  set(LLVM_EXTERNAL_LIT "${COMMSCHED_LIT}" CACHE FILEPATH "lit executable")
endif()

# Generated documentation must land in this build, not in MLIR's.
set(MLIR_BINARY_DIR ${CMAKE_BINARY_DIR})
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
separate_arguments(COMMSCHED_LLVM_DEFINITIONS NATIVE_COMMAND
                   "${LLVM_DEFINITIONS}")
add_definitions(${COMMSCHED_LLVM_DEFINITIONS})

find_package(Threads REQUIRED)
# Its headers alone: Boost.Graph.
find_package(Boost 1.74 REQUIRED CONFIG)

# The interpreter of the active environment, unless the user names another one. An
# environment that was made after the first configuration counts as well, and one
# that was removed does not.
if(Python3_EXECUTABLE AND NOT EXISTS "${Python3_EXECUTABLE}")
  unset(Python3_EXECUTABLE CACHE)
endif()
set(environment_python "$ENV{VIRTUAL_ENV}/bin/python")
if(DEFINED ENV{VIRTUAL_ENV} AND EXISTS "${environment_python}" AND
   (NOT Python3_EXECUTABLE OR
    Python3_EXECUTABLE STREQUAL "${COMMSCHED_ENVIRONMENT_PYTHON}"))
  set(COMMSCHED_ENVIRONMENT_PYTHON "${environment_python}" CACHE INTERNAL
      "The interpreter that an active environment gave")
  set(Python3_EXECUTABLE "${environment_python}" CACHE FILEPATH
      "Python interpreter" FORCE)
endif()
unset(environment_python)
find_package(Python3 COMPONENTS Interpreter)

if(COMMSCHED_ENABLE_TESTS)
  # Whoever only wants the tools needs no test framework.
  find_package(GTest QUIET)
  if(NOT GTest_FOUND)
    message(STATUS "GoogleTest was not found: the tests are not built")
    set(COMMSCHED_ENABLE_TESTS OFF)
  endif()
endif()

# Headers alone, which encode protocol buffers: execution traces of Chakra.
find_path(COMMSCHED_PROTOZERO_INCLUDE protozero/pbf_builder.hpp)
mark_as_advanced(COMMSCHED_PROTOZERO_INCLUDE)

find_package(MPI QUIET COMPONENTS C)
include(${CMAKE_CURRENT_SOURCE_DIR}/lib/Runtime/cmake/FindCommSchedCuda.cmake)
