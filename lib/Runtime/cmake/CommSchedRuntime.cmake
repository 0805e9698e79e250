# What the runtime's folders share: dependencies, flags, and the functions that
# declare its targets.

if(COMMSCHED_RUNTIME_STANDALONE)
  if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
  endif()
  set(CMAKE_CXX_STANDARD 17)
  set(CMAKE_CXX_STANDARD_REQUIRED ON)
  set(CMAKE_CXX_EXTENSIONS OFF)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  find_package(MPI QUIET COMPONENTS C)
  include(${CMAKE_CURRENT_LIST_DIR}/FindCommSchedCuda.cmake)
endif()

include(GNUInstallDirs)
find_package(Threads REQUIRED)
find_package(nlohmann_json 3 REQUIRED)

# Only here exceptions are allowed: they never cross the C interface.
set(COMMSCHED_RUNTIME_OPTIONS -Wall -Wextra -fvisibility=hidden
    $<$<COMPILE_LANGUAGE:CXX>:-fexceptions>)

function(commsched_runtime_configure name)
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${COMMSCHED_RUNTIME_INCLUDE_DIR}>
    $<BUILD_INTERFACE:${COMMSCHED_RUNTIME_SOURCE_DIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_options(${name} PRIVATE ${COMMSCHED_RUNTIME_OPTIONS})
endfunction()

# commsched_runtime_backend(Name source... [LINK_LIBS library...]): a module
# that the core loads by name.
function(commsched_runtime_backend name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_library(${name} MODULE ${ARG_UNPARSED_ARGUMENTS})
  commsched_runtime_configure(${name})
  target_link_libraries(${name} PRIVATE CommSchedRuntime
    CommSchedRuntimeNumerics ${ARG_LINK_LIBS})
  set_target_properties(${name} PROPERTIES BUILD_RPATH_USE_ORIGIN ON
    INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()
