# The target CommSched::MLIRCAPI: MLIR's C interface beside the one libMLIR.so,
# which does not contain it. The targets that MLIR exports for its archives
# would link a second, static copy of MLIR.
#
# The archives hide the identities of types that inline functions define
# (TypeID). Linked as they are, they would hide CommSched's as well, and these
# would differ from those of libMLIR.so: a module would have no symbol table.
# So this makes one archive of them in which the identities are visible.
function(commsched_add_mlir_capi)
  set(archives "")
  # An archive comes before those that it needs.
  foreach(component RegisterEverything Arith Func Tensor Transforms IR)
    list(APPEND archives ${LLVM_LIBRARY_DIR}/libMLIRCAPI${component}.a)
  endforeach()
  set(all ${CMAKE_CURRENT_BINARY_DIR}/libMLIRCAPI.a)
  set(visible ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/libCommSchedMLIRCAPI.a)
  # Variables of functions of TypeIDResolver, and their guards.
  set(identities
    --set-symbol-visibility=_ZZN4mlir6detail14TypeIDResolver*=default
    --set-symbol-visibility=_ZGVZN4mlir6detail14TypeIDResolver*=default)
  add_custom_command(OUTPUT ${visible}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${all}
    COMMAND ${LLVM_TOOLS_BINARY_DIR}/llvm-ar cqsL ${all} ${archives}
    COMMAND ${LLVM_TOOLS_BINARY_DIR}/llvm-objcopy --wildcard ${identities}
            ${all} ${visible}
    DEPENDS ${archives}
    COMMENT "Making the types of MLIR's C interface visible"
    VERBATIM)
  add_custom_target(CommSchedMLIRCAPIArchive DEPENDS ${visible})
  add_library(CommSched::MLIRCAPI STATIC IMPORTED GLOBAL)
  add_dependencies(CommSched::MLIRCAPI CommSchedMLIRCAPIArchive)
  set_target_properties(CommSched::MLIRCAPI PROPERTIES
    IMPORTED_LINK_INTERFACE_LANGUAGES CXX
    IMPORTED_LOCATION ${visible}
    INTERFACE_LINK_LIBRARIES CommSchedMLIR)
endfunction()
