# What `cmake --install` copies of the runtime, and the package that
# find_package(CommSchedRuntime) then finds: it has the one target
# CommSched::CommSchedRuntime. Backends lie beside the library.

include(CMakePackageConfigHelpers)

set(COMMSCHED_RUNTIME_PACKAGE_DIR
    ${CMAKE_INSTALL_LIBDIR}/cmake/CommSchedRuntime)

install(TARGETS CommSchedRuntime
  EXPORT CommSchedRuntimeTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT CommSchedRuntimeTargets
  NAMESPACE CommSched::
  FILE CommSchedRuntimeConfig.cmake
  DESTINATION ${COMMSCHED_RUNTIME_PACKAGE_DIR})
write_basic_package_version_file(
  ${CMAKE_CURRENT_BINARY_DIR}/CommSchedRuntimeConfigVersion.cmake
  VERSION ${PROJECT_VERSION}
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/CommSchedRuntimeConfigVersion.cmake
  DESTINATION ${COMMSCHED_RUNTIME_PACKAGE_DIR})
install(DIRECTORY ${COMMSCHED_RUNTIME_INCLUDE_DIR}/CommSched/Runtime
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/CommSched
  FILES_MATCHING PATTERN "*.h")
