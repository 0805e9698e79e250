# Which MLIR a program is linked with. CommSched's libraries link CommSchedMLIR
# or CommSchedLLVM, and the program that they end in decides by its property
# COMMSCHED_STATIC_MLIR: libMLIR.so and libLLVM.so, or their static archives. The
# same objects serve both.

# The linker finds in the group what it needs, in any order.
file(GLOB archives ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
foreach(name z zstd)
  find_library(COMMSCHED_STATIC_${name} lib${name}.a)
  mark_as_advanced(COMMSCHED_STATIC_${name})
  if(COMMSCHED_STATIC_${name})
    list(APPEND archives ${COMMSCHED_STATIC_${name}})
  endif()
endforeach()
list(JOIN archives "\n" archives)
set(COMMSCHED_MLIR_ARCHIVES ${CMAKE_BINARY_DIR}/cmake/MLIRArchives.a)
file(CONFIGURE OUTPUT ${COMMSCHED_MLIR_ARCHIVES} CONTENT
  "/* A linker script. */\nGROUP (\n${archives}\n)\n")
unset(archives)

set(static $<BOOL:$<TARGET_PROPERTY:COMMSCHED_STATIC_MLIR>>)
add_library(CommSchedMLIR INTERFACE)
target_link_libraries(CommSchedMLIR INTERFACE
  $<IF:${static},${COMMSCHED_MLIR_ARCHIVES},MLIR>)
add_library(CommSchedLLVM INTERFACE)
target_link_libraries(CommSchedLLVM INTERFACE
  $<IF:${static},${COMMSCHED_MLIR_ARCHIVES},LLVM>)
# With everything of MLIR, or with what is of use without its GPU targets.
add_library(CommSchedUpstream INTERFACE)
target_link_libraries(CommSchedUpstream INTERFACE
  $<IF:${static},CommSchedUpstreamCore,CommSchedUpstreamAll>)
unset(static)

# commsched_link_static_mlir(target map): links a shared library with MLIR's
# archives. Nothing is visible outside but what the linker's version script `map`
# lists, so that other copies of MLIR in the process do no harm.
function(commsched_link_static_mlir name map)
  set_target_properties(${name} PROPERTIES
    COMMSCHED_STATIC_MLIR ON LINK_DEPENDS ${map})
  target_link_options(${name} PRIVATE LINKER:--version-script=${map}
    LINKER:--gc-sections LINKER:--strip-all)
  target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS} rt m)
endfunction()
