# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# docs/reference/layouts.md shows each layout as the program explains it, docs/concepts/parallelism.md an MLP of one,
# docs/start/quickstart.md what two commands say before a training runs.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_test(NAME docs.quickstart
  COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/../examples/check_page.py"
          "${PROJECT_SOURCE_DIR}/docs/start/quickstart.md" --
          "${CMAKE_CURRENT_SOURCE_DIR}/commands_of_a_page.sh" "${PROJECT_SOURCE_DIR}/docs/start/quickstart.md"
          $<TARGET_FILE:riesz> explain plan-memory)
riesz_test_properties(docs.quickstart 1 "" app)
add_test(NAME docs.layouts
  COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/../examples/check_page.py"
          "${PROJECT_SOURCE_DIR}/docs/reference/layouts.md" --
          ${draw} "${CMAKE_CURRENT_SOURCE_DIR}/drawn_layouts.txt" "config=${adder}")
riesz_test_properties(docs.layouts 1 "" app)
add_test(NAME docs.parallelism
  COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/../examples/check_page.py"
          "${PROJECT_SOURCE_DIR}/docs/concepts/parallelism.md" --
          $<TARGET_FILE:riesz> explain "${adder}" --layer transformer.h.0.mlp layout.dp=1 layout.tp=3)
riesz_test_properties(docs.parallelism 1 "" app)
add_test(NAME docs.schedules
  COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/../examples/check_page.py"
          "${PROJECT_SOURCE_DIR}/docs/reference/schedules.md" --
          ${draw} "${CMAKE_CURRENT_SOURCE_DIR}/drawn_schedules.txt")
riesz_test_properties(docs.schedules 1 "" app)
