# Installs the library as `meson install` does, in the same places.
include(GNUInstallDirs)

install(TARGETS ${posenc_libraries}
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(DIRECTORY include/posenc DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATADIR}/licenses/posenc")

# ---- find_package(posenc): headers are found from the library's directory, unless one is outside the prefix ----

set(INCLUDE "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" AND NOT IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  file(RELATIVE_PATH INCLUDE "${CMAKE_INSTALL_FULL_LIBDIR}" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
endif()
set(VERSION ${posenc_version})
set(POINTER_SIZE ${CMAKE_SIZEOF_VOID_P})
set(HAS_OWN_SLEEF TRUE)
set(SLEEF_HINTS)
set(requires_sleef)
if(posenc_sleef_library)
  set(HAS_OWN_SLEEF FALSE)
  get_filename_component(SLEEF_HINTS "${posenc_sleef_library}" DIRECTORY)
  set(requires_sleef "Requires.private: sleef >= 3.5\n")
endif()
foreach(name posencConfig.cmake posencConfigVersion.cmake)
  configure_file(cmake/${name}.in ${name} @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/${name}" DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/posenc")
endforeach()

# ---- pkg-config ----

# posenc_pc_path(VARIABLE DIRECTORY): as pkg-config writes it, relative to the prefix if it is in there
function(posenc_pc_path variable directory)
  if(NOT IS_ABSOLUTE "${directory}")
    set(directory "\${prefix}/${directory}")
  endif()
  set(${variable} "${directory}" PARENT_SCOPE)
endfunction()

posenc_pc_path(pc_lib "${CMAKE_INSTALL_LIBDIR}")
posenc_pc_path(pc_include "${CMAKE_INSTALL_INCLUDEDIR}")
configure_file(cmake/posenc.pc.in posenc.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/posenc.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
