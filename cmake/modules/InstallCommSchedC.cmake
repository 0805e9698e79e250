# What `cmake --install` copies of the C interface that needs neither MLIR nor
# LLVM, and how others find it: find_package(CommSchedC) has the one target
# CommSched::CommSchedC, and pkg-config knows it as commsched-c.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(COMMSCHED_C_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/CommSchedC)
install(FILES ${CMAKE_CURRENT_SOURCE_DIR}/include/commsched-c/Schedule.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/commsched-c COMPONENT CommSchedC)
install(TARGETS CommSchedC
  EXPORT CommSchedCTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    COMPONENT CommSchedC NAMELINK_COMPONENT CommSchedC)
install(EXPORT CommSchedCTargets
  NAMESPACE CommSched::
  FILE CommSchedCConfig.cmake
  DESTINATION ${COMMSCHED_C_PACKAGE_DIR} COMPONENT CommSchedC)
write_basic_package_version_file(
  ${CMAKE_CURRENT_BINARY_DIR}/cmake/CommSchedCConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/cmake/CommSchedCConfigVersion.cmake
  DESTINATION ${COMMSCHED_C_PACKAGE_DIR} COMPONENT CommSchedC)

# Relative to the file itself, so that the folder may be moved.
set(COMMSCHED_C_PC_DIR ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH COMMSCHED_PREFIX_FROM_PC
  /prefix/${COMMSCHED_C_PC_DIR} /prefix)
configure_file(cmake/commsched-c.pc.in
  ${CMAKE_CURRENT_BINARY_DIR}/cmake/commsched-c.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/cmake/commsched-c.pc
  DESTINATION ${COMMSCHED_C_PC_DIR} COMPONENT CommSchedC)
