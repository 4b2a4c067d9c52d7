# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# Experts on an axis of their own, by the program.
add_process_test(app.experts
  COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/experts.py" "${results}/experts" "${RIESZ_MPIRUN}" $<TARGET_FILE:riesz> "${adder}"
    model.kind=mixtral model.experts=5 model.layers=2 model.width=24 model.hidden=20 data.digits=1 data.held_out=0.4 train.steps=6 train.batch=24
    train.eval_size=24 train.eval_every=3 schedule.warm_up=2
  MATCHES "^ep = 2, ZeRO 3: the same 26 numbers$" "^then one worker: the same 26 numbers$" "^then tp = 2: the same 26 numbers$"
    "^then experts like tp: the same 26 numbers$"
  LABELS app)
set(routed model.kind=mixtral model.experts=5 layout.dp=1)
riesz_refuses(experts_of_none WORDS train "${adder}" layout.ep=2 layout.dp=1 layout.tp=1
  SAYS "layout.ep = 2 .on the command line. workers share out experts, and model.kind = .gpt2. .the default. has none. set layout.ep to 1")
add_refusal(experts_in_matrices RANKS 8 WORDS train "${adder}" ${routed} layout.ep=2 layout.tp=4 layout.tensor=2d layout.experts=tp
  SAYS "layout.experts = .tp. makes layout.ep a part of the axis tp, which layout.tensor = .2d. does not have")
add_refusal(experts_on_other_ranks RANKS 3 WORDS train "${adder}" ${routed} layout.ep=2 layout.tp=1
  SAYS "layout.dp x layout.ep x layout.sp x layout.tp = 1 x 2 x 1 x 1 workers, but the job has 3 ranks. .* on 3 ranks: layout.ep = 3 or 1, times layout.dp and others to make 3$")
add_refusal(experts_at_one_bit RANKS 2 WORDS train "${adder}" ${routed} layout.ep=2 layout.tp=1 optimizer.kind=one_bit_adam optimizer.clip=0
  SAYS "layout.ep = 2 .on the command line.: optimizer.kind = .one_bit_adam. averages momenta over all workers that share the batch")

# Experts by data parallelism and in stages, and of a dense model.
add_process_test(app.text_by_experts
  COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/train_experts.sh" "${results}/text_by_experts" "${RIESZ_MPIRUN}" $<TARGET_FILE:riesz>
    "${PROJECT_SOURCE_DIR}/examples" "${PROJECT_SOURCE_DIR}/LICENSE"
  ONCE "^the same losses on two ranks and in two stages$" "^with experts, the held-out loss of the dense model$"
    "^.model_type.: .gpt2_moe.$"
  LABELS app)

# docs/guides/experts.md shows what the program explains of a layer with experts.
add_test(NAME docs.experts
  COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/../examples/check_page.py"
          "${PROJECT_SOURCE_DIR}/docs/guides/experts.md" --
          ${draw} "${CMAKE_CURRENT_SOURCE_DIR}/drawn_experts.txt" "config=${PROJECT_SOURCE_DIR}/examples/moe_text.toml"
          "text=${PROJECT_SOURCE_DIR}/LICENSE")
riesz_test_properties(docs.experts 1 "" app)
