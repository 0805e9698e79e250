# What `cmake --install` copies, and the package that `find_package(CommSched)`
# then finds: headers with the generated and the TableGen files, libraries,
# tools, the plugin, and targets in the namespace CommSched::.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(COMMSCHED_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/CommSched)
get_property(libraries GLOBAL PROPERTY COMMSCHED_LIBRARIES)
get_property(tools GLOBAL PROPERTY COMMSCHED_TOOLS)

install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/include/CommSched
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.td")
install(FILES
  include/commsched-c/Dialects.h
  include/commsched-c/Passes.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/commsched-c)
install(DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/include/CommSched
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.inc"
  PATTERN "CMakeFiles" EXCLUDE)

# MLIR's library need not be where the loader looks.
set_target_properties(${tools} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS ${libraries} ${tools}
  EXPORT CommSchedTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# CommSched::MLIRCAPI is imported here too, so that CMake does not export it.
install(FILES ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/libCommSchedMLIRCAPI.a
  DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT CommSchedTargets
  NAMESPACE CommSched::
  DESTINATION ${COMMSCHED_PACKAGE_DIR})

configure_package_config_file(cmake/CommSchedConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/cmake/CommSchedConfig.cmake
  INSTALL_DESTINATION ${COMMSCHED_PACKAGE_DIR}
  PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(
  ${CMAKE_CURRENT_BINARY_DIR}/cmake/CommSchedConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/cmake/CommSchedConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/cmake/CommSchedConfigVersion.cmake
  DESTINATION ${COMMSCHED_PACKAGE_DIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
