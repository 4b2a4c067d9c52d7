#!/bin/sh
# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
# nested_job.sh SIZE PROGRAM: a job of two ranks, as MPICH's launcher starts them, of which rank 0 starts a job of SIZE
# ranks. Rank 0 of the inner job runs PROGRAM; what it says of its own job is compared by number.
unset OMPI_COMM_WORLD_RANK PMIX_RANK PMIX_NAMESPACE PMI_RANK PMI_SIZE
PMI_RANK=1 PMI_SIZE=2 sleep 20 &
outer=$!
# The inner launcher has the variables of the outer rank.
PMI_RANK=0 PMI_SIZE=2 sh -c '
  other=0
  if [ "$1" -gt 1 ]; then
    PMI_RANK=1 PMI_SIZE=$1 sleep 20 &
    other=$!
  fi
  PMI_RANK=0 PMI_SIZE=$1 "$2" processes "$other"
  [ "$other" -eq 0 ] || kill "$other"
' inner "$1" "$2"
kill "$outer"
