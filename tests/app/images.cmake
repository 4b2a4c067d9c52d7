# SPDX-FileCopyrightText: The Riesz authors
# SPDX-License-Identifier: BSD-3-Clause
#
# Trainings on images. Read by CMakeLists.txt.
add_process_test(app.images
  COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/train_on_images.py" "${results}/images" "${RIESZ_MPIRUN}" $<TARGET_FILE:riesz>
    "${PROJECT_SOURCE_DIR}/examples/vit_fashion.toml"
  MATCHES "^the same losses at every layout$" "^explained as it was counted$" "^the same losses and weights when resumed$"
    "^gone on from what it learnt$" "^labelled as it learnt$" "^labelled in JSON by the folder of the training$" "^damaged ones left out$"
    "^ViT: 2 layers, 3 heads, width 18, images of 8, patches of 4, 4 labels$" "150 steps of 12 images in "
    "^step 150/150 .*[0-9] images/s  took " "^speed +[0-9,]+ images/s$" "^held-out images with the right label: (100.00|[89][0-9].[0-9]+) %"
  LABELS app)
add_process_test(app.resnet
  COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/train_resnet.py" "${results}/resnet" "${RIESZ_MPIRUN}" $<TARGET_FILE:riesz>
    "${PROJECT_SOURCE_DIR}/examples/resnet_fashion.toml"
  MATCHES "^the same losses at every layout$" "^explained as it was counted, and planned$"
    "^the same losses when resumed, and at its layout the same weights$" "^labelled as it learnt$"
    "^ResNet: depths .1, 1., widths .8, 12., images of 18, 4 labels$" "^held-out images with the right label: (100.00|[89][0-9].[0-9]+) %"
  LABELS app)
foreach(example IN ITEMS unet_cells fno_darcy)
  add_process_test(app.${example}
    COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/train_fields.py" "${results}/${example}" "${RIESZ_MPIRUN}" $<TARGET_FILE:riesz>
      "${PROJECT_SOURCE_DIR}/examples/${example}.toml"
    MATCHES "^the same losses at every layout$" "^explained as it was counted, and planned$"
      "^the same losses when resumed, and at its layout the same weights$" "^drawn beside what is right$" "^no labels of images$"
    LABELS app)
endforeach()
add_process_test(app.predict_fields
  COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/predict_fields.py" "${results}/predict_fields" "${RIESZ_MPIRUN}" $<TARGET_FILE:riesz>
  MATCHES "^the same labels in tiles$" "^a field of another size$"
  LABELS app)
riesz_refuses(space_of_tokens WORDS train "${PROJECT_SOURCE_DIR}/examples/vit_fashion.toml" layout=space2x2
  SAYS "layout.space = .2, 2. .on the command line. shares out the rows and columns of images, and model.kind = .vit. .* has no such dims")
riesz_refuses(space_of_one_number WORDS train "${PROJECT_SOURCE_DIR}/examples/resnet_fashion.toml" layout.space=4
  SAYS "layout.space = .4. .on the command line. has 1 numbers. give one of workers along the height of an image")
set(fashion "${PROJECT_SOURCE_DIR}/examples/vit_fashion.toml")
riesz_refuses(images_of_tokens WORDS train "${fashion}" model.kind=gpt2
  SAYS "model.channels is set in .*vit_fashion.toml, which is read only with model.kind = .vit. or .resnet. or .unet. or .fno., but model.kind is .gpt2.")
riesz_refuses(images_of_no_folder WORDS train "${fashion}" layout.dp=1 data.images=/no/such/folder
  SAYS "there is no folder ./no/such/folder.. a folder of images has MNIST.s files")
