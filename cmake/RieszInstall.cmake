# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# Installs the library as the package Riesz: Riesz::riesz, Riesz::<room>, and Riesz::testing.

include(CMakePackageConfigHelpers)
set(riesz_package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/Riesz")

get_property(riesz_rooms GLOBAL PROPERTY RIESZ_ROOM_TARGETS)
list(REMOVE_ITEM riesz_rooms riesz_testing)
install(TARGETS ${riesz_rooms} riesz_all EXPORT RieszTargets FILE_SET HEADERS)
install(EXPORT RieszTargets NAMESPACE Riesz:: DESTINATION "${riesz_package_folder}")
if(TARGET riesz_testing)
  # Apart, so that only those who test need GoogleTest and Eigen.
  install(TARGETS riesz_testing EXPORT RieszTestingTargets FILE_SET HEADERS)
  install(EXPORT RieszTestingTargets NAMESPACE Riesz:: DESTINATION "${riesz_package_folder}")
endif()
if(TARGET riesz)
  install(TARGETS riesz)
endif()

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
  DESTINATION "${riesz_package_folder}")
