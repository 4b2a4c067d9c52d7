# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# PCRE2::8BIT: PCRE2 over bytes. Debian's libpcre2-dev brings no package of CMake's own.
find_path(PCRE2_INCLUDE_DIR pcre2.h)
find_library(PCRE2_LIBRARY pcre2-8)
mark_as_advanced(PCRE2_INCLUDE_DIR PCRE2_LIBRARY)
if(PCRE2_INCLUDE_DIR)
  foreach(part IN ITEMS MAJOR MINOR)
    file(STRINGS "${PCRE2_INCLUDE_DIR}/pcre2.h" pcre2_line REGEX "^#define PCRE2_${part} ")
    string(REGEX MATCH "[0-9]+$" pcre2_${part} "${pcre2_line}")
  endforeach()
  set(PCRE2_VERSION "${pcre2_MAJOR}.${pcre2_MINOR}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(PCRE2 REQUIRED_VARS PCRE2_LIBRARY PCRE2_INCLUDE_DIR VERSION_VAR PCRE2_VERSION)
if(PCRE2_FOUND AND NOT TARGET PCRE2::8BIT)
  add_library(PCRE2::8BIT UNKNOWN IMPORTED GLOBAL)
  set_target_properties(PCRE2::8BIT PROPERTIES
    IMPORTED_LOCATION "${PCRE2_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${PCRE2_INCLUDE_DIR}")
endif()
