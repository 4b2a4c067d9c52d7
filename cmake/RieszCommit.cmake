# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# cmake -DSOURCE=FOLDER -DOUTPUT=FILE -DVERSION=V -P RieszCommit.cmake: writes a source with what `riesz --version` says of
# the sources (app/version.h). It is written only where it changes, so that nothing is compiled anew for it otherwise. Where
# they are no clone, as in an image, the environment's RIESZ_COMMIT says the commit.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND git describe --always --dirty --abbrev=10 WORKING_DIRECTORY "${SOURCE}"
  OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
if(commit STREQUAL "")
  set(commit "$ENV{RIESZ_COMMIT}")
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "namespace riesz::app {
extern const char* const kVersion;
extern const char* const kCommit;
const char* const kVersion = \"${VERSION}\";
const char* const kCommit = \"${commit}\";
}  // namespace riesz::app
")
