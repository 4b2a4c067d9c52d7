# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# cmake -DSOURCE=FOLDER -DOUTPUT=FILE -DVERSION=V -P RieszCommit.cmake: writes what `riesz --version` says of the sources.
# The file is written only where it changes, so that nothing is compiled anew for it otherwise.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND git describe --always --dirty --abbrev=10 WORKING_DIRECTORY "${SOURCE}"
  OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
file(CONFIGURE OUTPUT "${OUTPUT}"
  CONTENT "#pragma once\n#define RIESZ_VERSION \"${VERSION}\"\n#define RIESZ_COMMIT \"${commit}\"\n")
