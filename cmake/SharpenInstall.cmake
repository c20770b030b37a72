# make install: headers, library, program, and what find_package and pkg-config need.
include(CMakePackageConfigHelpers)

install(TARGETS sharpen EXPORT sharpenTargets)
if(TARGET sharpen_app)
  install(TARGETS sharpen_app)
endif()
install(DIRECTORY include/sharpen DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.hpp")

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/sharpen")
get_target_property(library_type sharpen TYPE)
configure_package_config_file(cmake/sharpenConfig.cmake.in
  "${PROJECT_BINARY_DIR}/package/sharpenConfig.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/sharpenConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(EXPORT sharpenTargets NAMESPACE sharpen:: DESTINATION "${package_dir}")
install(FILES "${PROJECT_BINARY_DIR}/package/sharpenConfig.cmake"
              "${PROJECT_BINARY_DIR}/package/sharpenConfigVersion.cmake"
              cmake/FindOpenBLASLapacke.cmake
        DESTINATION "${package_dir}")

# A static library hands its dependencies on to whoever links it; a shared one has its own. They are
# named as libraries, not as Requires, which would hand on their compiler flags as well.
set(pc_libs "")
if(library_type STREQUAL "STATIC_LIBRARY")
  set(pc_libs "-ltbb -lspdlog -lfmt -ltomlplusplus -lz -lsqlite3 -llapacke -lopenblas -pthread")
endif()
# Directories relative to the file keep the package movable.
file(RELATIVE_PATH pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(pc_prefix "${CMAKE_INSTALL_PREFIX}")
  set(pc_libdir "${CMAKE_INSTALL_LIBDIR}")
else()
  string(REGEX REPLACE "/$" "" pc_prefix "\${pcfiledir}/${pc_prefix}")
  set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
if(IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(pc_includedir "${CMAKE_INSTALL_INCLUDEDIR}")
else()
  set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
configure_file(cmake/sharpen.pc.in "${PROJECT_BINARY_DIR}/package/sharpen.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/package/sharpen.pc"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
