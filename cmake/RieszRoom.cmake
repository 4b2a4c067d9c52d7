# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# riesz_room(): one static library a folder, linking only downward.

# The build tree shows the folders of the sources as users see them installed: riesz/<room>/<file>.h.
set(RIESZ_INCLUDE_DIR "${PROJECT_BINARY_DIR}/include")
file(MAKE_DIRECTORY "${RIESZ_INCLUDE_DIR}/riesz")

set(riesz_room_file "${CMAKE_CURRENT_LIST_DIR}/rooms.txt")
file(STRINGS "${riesz_room_file}" riesz_room_table REGEX "^[a-z]+:")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${riesz_room_file}")
foreach(line IN LISTS riesz_room_table)
  string(REGEX MATCH "^([a-z]+): *(.*)$" _ "${line}")
  string(REPLACE " " ";" RIESZ_ROOM_MAY_USE_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
  list(APPEND RIESZ_ROOMS ${CMAKE_MATCH_1})
endforeach()

# Stops unless the table of rooms lets <name> use every room of <depends>.
function(riesz_check_rooms name)
  if(NOT name IN_LIST RIESZ_ROOMS)
    message(FATAL_ERROR "riesz_room(${name}): there is no such room. cmake/rooms.txt has: ${RIESZ_ROOMS}")
  endif()
  foreach(room IN LISTS ARGN)
    if(NOT room IN_LIST RIESZ_ROOM_MAY_USE_${name})
      message(FATAL_ERROR "riesz_room(${name} DEPENDS ${room}): ${name} may use only "
        "[${RIESZ_ROOM_MAY_USE_${name}}] (cmake/rooms.txt). Rooms link only downward.")
    endif()
  endforeach()
endfunction()

# A source includes its own header first (tests/hygiene checks it), so building it proves that the header compiles
# alone, with RIESZ_PRECOMPILE=OFF (the preset "plain"). For a header without a source one is made here, for the target
# headers_alone.
function(riesz_headers_alone name)
  foreach(header IN LISTS ARGN)
    cmake_path(REPLACE_EXTENSION header cpp OUTPUT_VARIABLE source)
    if(NOT EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${source}")
      set(source "${PROJECT_BINARY_DIR}/headers_alone/${name}/${source}")
      file(CONFIGURE OUTPUT "${source}" CONTENT "#include \"riesz/${name}/${header}\"\n")
      set_property(GLOBAL APPEND PROPERTY RIESZ_HEADERS_ALONE "${source}")
    endif()
  endforeach()
endfunction()

# Notes the packages of the targets Package::target, which a user of the installed room must find too.
function(riesz_uses_packages name)
  foreach(target IN LISTS ARGN)
    if(NOT name STREQUAL testing AND NOT target MATCHES "^(Riesz|MPI)::" AND target MATCHES "^([^:]+)::")
      set_property(GLOBAL APPEND PROPERTY RIESZ_PACKAGES ${CMAKE_MATCH_1})
    endif()
  endforeach()
endfunction()

# riesz_room(<name>
#   [DEPENDS room...]      rooms it uses, publicly
#   [HEADERS file...]      public headers, included as riesz/<name>/<file>
#   [INTERNAL file...]     headers that sources of other rooms include too: not installed, and not in riesz/riesz.h
#   [SOURCES file...]
#   [PUBLIC target...]     other libraries that its headers include
#   [PRIVATE target...]    other libraries that only its sources include
#   [LEVEL -O1]            how far a release optimises it
#   [LOOPS file...]        of SOURCES, those with loops over numbers of their own, which are optimised whatever LEVEL says
#   [PLAIN_LOOPS file...]) the same of those that include no tensors: reading what is precompiled would take them longer
#
# Makes the static library riesz_<name>, alias Riesz::<name>, and installs it with its public headers. A header that is
# in no list is its own room's alone (tests/hygiene/check_lists.py).
function(riesz_room name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LEVEL" "DEPENDS;HEADERS;INTERNAL;SOURCES;LOOPS;PLAIN_LOOPS;PUBLIC;PRIVATE")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "riesz_room(${name}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  riesz_check_rooms(${name} ${arg_DEPENDS})
  if(NOT arg_SOURCES)
    return()
  endif()

  riesz_headers_alone(${name} ${arg_HEADERS} ${arg_INTERNAL})
  file(CREATE_LINK "${CMAKE_CURRENT_SOURCE_DIR}" "${RIESZ_INCLUDE_DIR}/riesz/${name}" SYMBOLIC)
  list(TRANSFORM arg_HEADERS PREPEND "${RIESZ_INCLUDE_DIR}/riesz/${name}/")

  set(target riesz_${name})
  set(others ${arg_SOURCES})
  if(arg_LOOPS OR arg_PLAIN_LOOPS)
    list(REMOVE_ITEM others ${arg_LOOPS} ${arg_PLAIN_LOOPS})
  endif()
  riesz_joined(loops ${name}_loops 1 ${arg_LOOPS})
  riesz_joined(plain_loops ${name}_plain_loops 1 ${arg_PLAIN_LOOPS})
  set_source_files_properties(${loops} ${plain_loops} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O3>)
  set_source_files_properties(${plain_loops} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  riesz_joined(sources ${name} 1 ${others})
  add_library(${target} STATIC ${sources} ${loops} ${plain_loops})
  set_target_properties(${target} PROPERTIES RIESZ_SOURCES "${arg_SOURCES}")
  add_library(Riesz::${name} ALIAS ${target})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_sources(${target} PUBLIC
    FILE_SET HEADERS BASE_DIRS "${RIESZ_INCLUDE_DIR}" FILES ${arg_HEADERS})
  list(TRANSFORM arg_DEPENDS PREPEND riesz_)
  foreach(room IN LISTS arg_DEPENDS)
    if(NOT TARGET ${room})
      list(REMOVE_ITEM arg_DEPENDS ${room})
    endif()
  endforeach()
  target_link_libraries(${target}
    PUBLIC ${arg_DEPENDS} ${arg_PUBLIC}
    PRIVATE ${arg_PRIVATE} $<BUILD_INTERFACE:riesz_warnings> $<BUILD_INTERFACE:riesz_joined_warnings>)
  riesz_optimise(${target} "${arg_LEVEL}")
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  riesz_use_precompiled(${target} riesz_precompiled_for_rooms)
  riesz_uses_packages(${name} ${arg_PUBLIC} ${arg_PRIVATE})
  set_property(GLOBAL APPEND PROPERTY RIESZ_ROOM_TARGETS ${target})
endfunction()

# Riesz::riesz, which links every room of the library, with riesz/riesz.h, which includes all their public headers.
function(riesz_umbrella)
  get_property(rooms GLOBAL PROPERTY RIESZ_ROOM_TARGETS)
  string(CONCAT text "// SPDX-FileCopyrightText: The Riesz authors\n// SPDX-License-Identifier: BSD-3-Clause\n//\n"
    "// All of Riesz: every public header. Written by CMake from the lists of the rooms.\n#pragma once\n\n")
  foreach(room IN LISTS rooms)
    get_target_property(headers ${room} HEADER_SET)
    foreach(header IN LISTS headers)
      cmake_path(RELATIVE_PATH header BASE_DIRECTORY "${RIESZ_INCLUDE_DIR}")
      string(APPEND text "#include \"${header}\"\n")
    endforeach()
  endforeach()
  file(CONFIGURE OUTPUT "${RIESZ_INCLUDE_DIR}/riesz/riesz.h" CONTENT "${text}" @ONLY)
  add_library(riesz_all INTERFACE)
  target_sources(riesz_all INTERFACE
    FILE_SET HEADERS BASE_DIRS "${RIESZ_INCLUDE_DIR}" FILES "${RIESZ_INCLUDE_DIR}/riesz/riesz.h")
  add_library(Riesz::riesz ALIAS riesz_all)
  target_link_libraries(riesz_all INTERFACE ${rooms})
  set_target_properties(riesz_all PROPERTIES EXPORT_NAME riesz)
endfunction()
