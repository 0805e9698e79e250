# The functions with which CommSched's folders declare their targets.

# commsched_enable_assertions(target)
#
# Every target is compiled with NDEBUG, on which the layout of MLIR's classes
# depends. A target that uses no MLIR can do without.
function(commsched_enable_assertions name)
  if(COMMSCHED_ENABLE_ASSERTIONS)
    target_compile_options(${name} PRIVATE -UNDEBUG)
  endif()
endfunction()

# commsched_add_library(Name source... [NO_MLIR] [DEPENDS target...]
#                       [LINK_LIBS library...])
#
# A static library. Naming MLIR's component libraries would link a static copy of
# MLIR beside libMLIR.so: CommSchedMLIR stands for the one that the program is
# linked with (LinkMLIR.cmake). NO_MLIR keeps MLIR away from the libraries that
# must build without it.
function(commsched_add_library name)
  cmake_parse_arguments(ARG "NO_MLIR" "" "DEPENDS;LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  add_library(CommSched::${name} ALIAS ${name})
  target_include_directories(${name} INTERFACE
    $<BUILD_INTERFACE:${CommSched_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${CommSched_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  list(REMOVE_ITEM ARG_LINK_LIBS PUBLIC)
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS})
  if(ARG_NO_MLIR)
    commsched_enable_assertions(${name})
  else()
    target_link_libraries(${name} PUBLIC
      $<BUILD_INTERFACE:CommSchedMLIR> $<INSTALL_INTERFACE:MLIR>)
  endif()
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  set_property(GLOBAL APPEND PROPERTY COMMSCHED_LIBRARIES ${name})
endfunction()

# commsched_add_tool(name source... [LINK_LIBS library...])
function(commsched_add_tool name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS})
  set_property(GLOBAL APPEND PROPERTY COMMSCHED_TOOLS ${name})
endfunction()

# commsched_add_unittest(Name source... [NO_MLIR] [LINK_LIBS library...])
#
# A GoogleTest program; lit finds and runs it from unittests/. NO_MLIR as above.
function(commsched_add_unittest name)
  cmake_parse_arguments(ARG "NO_MLIR" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                        ${CMAKE_CURRENT_BINARY_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} GTest::gtest_main
                        Threads::Threads)
  if(ARG_NO_MLIR)
    commsched_enable_assertions(${name})
  endif()
  # Tests run for seconds, and optimizing GoogleTest's code takes longer.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  add_dependencies(CommSchedUnitTests ${name})
endfunction()
