# An overlay port: vcpkg install posenc --overlay-ports=packaging/vcpkg, from the tree that it stands in.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

set(library static)
if(VCPKG_LIBRARY_LINKAGE STREQUAL "dynamic")
  set(library shared)
endif()
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DPOSENC_LIBRARY=${library}
    -DPOSENC_SLEEF=system
    -DPOSENC_INSTALL=ON)
vcpkg_cmake_install()
# posencConfig.cmake finds the library from where it was installed, and is the same for debug and release.
set(VCPKG_POLICY_SKIP_LIB_CMAKE_MERGE_CHECK enabled)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share"
  "${CURRENT_PACKAGES_DIR}/debug/lib/cmake" "${CURRENT_PACKAGES_DIR}/share/licenses")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
