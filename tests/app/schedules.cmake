# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause

# Tables: written and read again, and what is said about bad input.
add_process_test(app.schedule
  COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/schedule_files.sh" "${results}/schedule" $<TARGET_FILE:riesz>
  ONCE "^the same from its own file$" "^a picture with 64 boxes$"
    "^span 49, bubble 51\\.0 %, 48 messages between workers$"
    "^.rank 0 of 1. verify: 1F1 .worker 1, slot 0.: it needs the message of micro-batch 1 from chunk 0"
  LABELS app)
foreach(refusal IN ITEMS
    "name|1f1b --stages 2 --micro-batches 2|there is no schedule .1f1b.. there are gpipe, one_f_one_b, "
    "stages|gpipe --micro-batches 2|schedule: .gpipe.: say for how many, with --stages and --micro-batches"
    "costs|gpipe --stages 2 --micro-batches 2 --costs 1,2|--costs is .1,2.. it must be three or four numbers"
    "file|none.csv|cannot read .none.csv.: No such file"
    "effect|none.csv --stages 2|the file says it, so --stages has no effect. leave it out"
    "capacity|interleaved --stages 2 --micro-batches 4 --capacity 1|verify: a circle of waiting: .* has no room for its")
  string(REPLACE "|" ";" refusal "${refusal}")
  list(GET refusal 0 name)
  list(GET refusal 1 words)
  list(GET refusal 2 says)
  separate_arguments(words)
  riesz_refuses(schedule.${name} WORDS schedule ${words} SAYS "${says}")
endforeach()
add_process_test(app.schedule.help
  COMMAND riesz schedule --help
  ONCE "^  zb_v +two chunks a worker in a V" "--costs F,B,W" "^riesz schedule one_f_one_b --stages 4"
  LABELS app)
riesz_refuses(layer_to_explain WORDS explain "${adder}" layout.dp=1 layout.tp=2 --layer transformer.h.7
  SAYS "no layer transformer.h.7 sends anything. these do: transformer.wte")
