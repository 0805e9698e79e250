# What a person should know after the configure step.

function(commsched_summary label found text)
  if(found)
    message(STATUS "  ${label} ${text}")
  else()
    message(STATUS "  ${label} not found")
  endif()
endfunction()

message(STATUS "CommSched ${PROJECT_VERSION} (${CMAKE_BUILD_TYPE}) found:")
commsched_summary("MLIR:  " TRUE "${LLVM_PACKAGE_VERSION} (${MLIR_DIR})")
commsched_summary("lit:   " "${LLVM_EXTERNAL_LIT}" "${LLVM_EXTERNAL_LIT}")
commsched_summary("Python:" "${Python3_FOUND}"
                  "${Python3_VERSION} (${Python3_EXECUTABLE})")
commsched_summary("MPI:   " "${MPI_C_FOUND}" "${MPI_C_LIBRARY_VERSION_STRING} ${MPI_C_VERSION} (${MPI_C_COMPILER})")
commsched_summary("CUDA:  " "${COMMSCHED_NVCC}" "${COMMSCHED_NVCC}")
commsched_summary("NCCL:  " "${NCCL_LIBRARY}" "${NCCL_LIBRARY}")
commsched_summary("protozero:" "${COMMSCHED_PROTOZERO_INCLUDE}"
                  "${COMMSCHED_PROTOZERO_INCLUDE}")
