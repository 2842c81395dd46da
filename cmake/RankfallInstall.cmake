# What `cmake --install` puts where: the command, the shared library, the public headers, and what find_package(rankfall)
# and pkg-config need. The layers' static libraries stay here: only the shared library is exported.
include(CMakePackageConfigHelpers)

install(
  TARGETS rankfall
  EXPORT rankfallTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/rankfall ${PROJECT_BINARY_DIR}/include/rankfall
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

if(TARGET rankfall_cli)
  # The command finds its library beside it, wherever the tree is moved; ../lib is that of the build tree.
  file(RELATIVE_PATH rankfall_bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set(rankfall_library_places "$ORIGIN/${rankfall_bin_to_lib}" "$ORIGIN/../lib")
  list(REMOVE_DUPLICATES rankfall_library_places)
  set_target_properties(rankfall_cli PROPERTIES INSTALL_RPATH "${rankfall_library_places}")
  install(TARGETS rankfall_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET rankfall_train)
  install(TARGETS rankfall_train RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/rankfall)
endif()

set(rankfall_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rankfall)
install(
  EXPORT rankfallTargets
  NAMESPACE rankfall::
  DESTINATION ${rankfall_config_dir})
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/rankfallConfig.cmake.in ${PROJECT_BINARY_DIR}/rankfallConfig.cmake
  INSTALL_DESTINATION ${rankfall_config_dir}
  NO_SET_AND_CHECK_MACRO)
# Before 1.0 a new minor version may change the API.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rankfallConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rankfallConfig.cmake ${PROJECT_BINARY_DIR}/rankfallConfigVersion.cmake
        DESTINATION ${rankfall_config_dir})

file(RELATIVE_PATH rankfall_pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${PROJECT_SOURCE_DIR}/cmake/rankfall.pc.in ${PROJECT_BINARY_DIR}/rankfall.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/rankfall.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
