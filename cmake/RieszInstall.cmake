# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# Installs the library as the package Riesz (Riesz::riesz, Riesz::<room>, and Riesz::testing), the programs riesz and
# riesz-tools, their launcher riesz-mpirun, the documents, the examples, and LibTorch where other users could not read it.
# `cmake --install FOLDER --component program` leaves out what only compilers read.

include(CMakePackageConfigHelpers)
set(riesz_package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/Riesz")

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME library)
get_property(riesz_rooms GLOBAL PROPERTY RIESZ_ROOM_TARGETS)
list(REMOVE_ITEM riesz_rooms riesz_testing)
install(TARGETS ${riesz_rooms} riesz_all EXPORT RieszTargets FILE_SET HEADERS)
install(EXPORT RieszTargets NAMESPACE Riesz:: DESTINATION "${riesz_package_folder}")
if(TARGET riesz_testing)
  # Apart, so that only those who test need GoogleTest and Eigen.
  install(TARGETS riesz_testing EXPORT RieszTestingTargets FILE_SET HEADERS)
  install(EXPORT RieszTestingTargets NAMESPACE Riesz:: DESTINATION "${riesz_package_folder}")
endif()

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME program)
if(TARGET riesz)
  install(TARGETS riesz riesz_tools)
  get_target_property(said riesz RIESZ_SAID)
  install(FILES "${said}/riesz.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
  install(FILES "${said}/riesz" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
  install(FILES "${said}/_riesz" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
  install(FILES "${said}/riesz.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
endif()
# Not as mpirun: that is the system's, before which it may come in the PATH.
install(PROGRAMS "${RIESZ_MPIRUN}" DESTINATION "${CMAKE_INSTALL_BINDIR}" RENAME riesz-mpirun)
foreach(page IN ITEMS README.md CHANGELOG.md CONTRIBUTING.md LICENSE)
  install(FILES "${PROJECT_SOURCE_DIR}/${page}" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
endforeach()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" DESTINATION "${CMAKE_INSTALL_DOCDIR}"
  FILES_MATCHING PATTERN "*.md" PATTERN "*.svg")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/examples" DESTINATION "${CMAKE_INSTALL_DATADIR}/riesz"
  FILES_MATCHING PATTERN "*.cpp" PATTERN "*.h" PATTERN "*.toml" PATTERN "*.sbatch" PATTERN "hostfile")

set(RIESZ_INSTALL_LIBTORCH AUTO CACHE STRING
  "Install LibTorch with Riesz: ON, OFF, or AUTO, where not every user can read the one that Riesz was built with")
set_property(CACHE RIESZ_INSTALL_LIBTORCH PROPERTY STRINGS AUTO ON OFF)
install(CODE "
  set(RIESZ_INSTALL_LIBTORCH \"${RIESZ_INSTALL_LIBTORCH}\")
  set(RIESZ_LIBTORCH_FOLDER \"${RIESZ_LIBTORCH_FOLDER}\")
  set(RIESZ_CUDA_FOLDERS \"${riesz_folders}\")
  set(RIESZ_PROGRAM_FOLDER \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
  set(RIESZ_LIBTORCH_DESTINATION \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${RIESZ_LIBTORCH_INSTALLED}\")")
install(SCRIPT "${CMAKE_CURRENT_LIST_DIR}/RieszInstallLibTorch.cmake")

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME library)
get_property(riesz_packages GLOBAL PROPERTY RIESZ_PACKAGES)
list(REMOVE_DUPLICATES riesz_packages)
list(JOIN riesz_packages " " riesz_packages)
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/RieszConfig.cmake.in" "${PROJECT_BINARY_DIR}/RieszConfig.cmake"
  INSTALL_DESTINATION "${riesz_package_folder}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/RieszConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/RieszConfig.cmake"
  "${PROJECT_BINARY_DIR}/RieszConfigVersion.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/RieszFindLibTorch.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/RieszLibTorch.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/FindPCRE2.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/FindTurboJPEG.cmake"
  DESTINATION "${riesz_package_folder}")
