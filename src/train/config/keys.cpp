// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/config/keys.h"

#include <string>
#include <utility>

#include "riesz/train/config/key_makers.h"

namespace riesz {
namespace {

using detail::choice;
using detail::Integers;
using detail::kNoLimit;
using detail::only;
using detail::path;
using detail::path_or_name;
using detail::paths;

std::vector<Key> model_keys() {
  const char* kind = "model.kind";
  const auto of_labels = [](Key key) { return only("model.kind", {"vit", "resnet"}, std::move(key)); };
  const auto of_images = [](Key key) {
    return only("model.kind", {"vit", "resnet", "unet", "fno"}, std::move(key));
  };
  const auto of_vit = [](Key key) { return only("model.kind", {"vit"}, std::move(key)); };
  const auto of_resnet = [](Key key) { return only("model.kind", {"resnet"}, std::move(key)); };
  const auto of_transformers = [](Key key) {
    return only("model.kind", {"gpt2", "gpt2_moe", "gptj", "llama", "mixtral", "qwen2_moe", "vit"},
                std::move(key));
  };
  const auto of_experts = [](Key key) {
    return only("model.kind", {"gpt2_moe", "mixtral", "qwen2_moe"}, std::move(key));
  };
  const auto of_text = [](Key key) {
    return only("model.kind", {"gpt2", "gpt2_moe", "gptj", "llama", "mixtral", "qwen2_moe"}, std::move(key));
  };
  return {
      choice(RIESZ_TEXT(
                 model.kind,
                 "which: GPT-2, as minGPT, or with experts in some blocks; GPT-J, whose positions turn and "
                 "whose branches stand side by side; the Llama family; Mixtral and Qwen2-MoE, Llamas with "
                 "experts; of images, ViT and ResNet; of their pixels, U-Net; of fields, the Fourier neural "
                 "operator"),
             {"gpt2", "gpt2_moe", "gptj", "llama", "mixtral", "qwen2_moe", "vit", "resnet", "unet", "fno"}),
      path_or_name(RIESZ_TEXT(model.from,
                              "a trained model to go on from: a folder with config.json and safetensors, or "
                              "the name of one in Hugging Face's cache, such as org/name; its sizes stand in "
                              "the place of these keys; empty: none")),
      RIESZ_SWITCH(
          model.upcycle,
          "whether the model of model.from, a llama or a gpt2, becomes one with experts: each begins "
          "as a copy of its MLP, and routers are drawn"),
      only(kind, {"gpt2", "gpt2_moe", "gptj", "llama", "mixtral", "qwen2_moe", "vit", "fno"},
           RIESZ_INTEGER(model.layers, 1, kNoLimit, "transformer blocks, or Fourier blocks of an fno")),
      of_transformers(RIESZ_INTEGER(model.heads, 1, kNoLimit, "attention heads of a block")),
      only(kind, {"llama", "mixtral", "qwen2_moe"},
           RIESZ_INTEGER(model.key_value_heads, 0, kNoLimit,
                         "heads of keys and values, which as many attention heads share each; 0: as many")),
      only(kind, {"gpt2", "gpt2_moe", "gptj", "llama", "mixtral", "qwen2_moe", "vit", "unet", "fno"},
           RIESZ_INTEGER(model.width, 1, kNoLimit,
                         "width of the residual stream, a multiple of the heads; channels between blocks of "
                         "an fno, or at the first level of a unet, where each has twice those of the one "
                         "above")),
      only(kind, {"gpt2", "gpt2_moe", "gptj", "llama", "mixtral", "qwen2_moe", "vit", "fno"},
           RIESZ_INTEGER(
               model.hidden, 0, kNoLimit,
               "width of the MLP; of each expert of a mixtral or gpt2_moe, of the shared expert of a "
               "qwen2_moe; channels inside of an fno's projection; 0: four times the width")),
      only(kind, {"qwen2_moe"},
           RIESZ_INTEGER(model.expert_hidden, 0, kNoLimit,
                         "width of each expert but the shared one; 0: that of the shared one")),
      only(kind, {"qwen2_moe"},
           RIESZ_SWITCH(model.renormalise, "whether the gate values of a token are divided by their sum")),
      of_experts(RIESZ_INTEGER(model.experts, 1, 4096, "experts of a block, in the place of its MLP")),
      of_experts(RIESZ_INTEGER(model.experts_per_token, 1, 4096,
                               "experts that each token goes to: those with the largest router logits")),
      only(kind, {"gpt2_moe"},
           RIESZ_INTEGER(model.experts_every, 1, 10000,
                         "which blocks have experts: with n each n-th one; 1: all")),
      only(kind, {"gpt2_moe"},
           RIESZ_NUMBER(model.capacity_factor, 0, 1e6,
                        "times the mean load, rounded up, but at least 4: choices that an expert takes of a "
                        "micro-batch in training; others are dropped; 0: it takes all")),
      of_experts(RIESZ_NUMBER(model.balance_weight, 0, 1e6,
                              "factor of the balance loss, which training adds to the loss of the tokens; "
                              "0: none")),
      only(kind, {"gpt2_moe"},
           RIESZ_NUMBER(model.z_weight, 0, 1e6,
                        "factor of the z-loss, which training adds: the mean of (log Σ exp(router logits))²; "
                        "0: none")),
      of_text(RIESZ_INTEGER(model.context, 1, kNoLimit, "tokens that the model sees at once")),
      only(kind, {"vit", "resnet", "unet", "fno"},
           RIESZ_INTEGER(model.image, 1, kNoLimit,
                         "rows and columns of an image or a field; of a vit a multiple of the patch, of a "
                         "unet of 2 to the power of its levels but one")),
      of_vit(RIESZ_INTEGER(model.patch, 1, kNoLimit, "rows and columns of what becomes one token")),
      of_images(RIESZ_INTEGER(model.channels, 1, 4096,
                              "of images 1, in grey, or 3, in red, green and blue; of fields from files any "
                              "number, to which an fno adds two of coordinates")),
      of_resnet(RIESZ_INTEGERS(model.depths, 1, "residual blocks of each stage")),
      of_resnet(RIESZ_INTEGERS(model.widths, 1, "channels that each stage gives")),
      of_resnet(RIESZ_INTEGER(model.stem, 1, kNoLimit, "channels of the first convolution")),
      of_resnet(RIESZ_SWITCH(model.bottleneck,
                             "whether a block has three convolutions, on a fourth of the channels, as from "
                             "ResNet-50 on; else two")),
      of_resnet(RIESZ_SWITCH(model.halves_first,
                             "whether the first stage halves rows and columns, as the others do")),
      only(kind, {"unet"},
           RIESZ_INTEGER(model.levels, 1, 16,
                         "resolutions: each has half the rows and columns of the one above")),
      only(kind, {"fno"},
           RIESZ_INTEGERS(model.modes, 1,
                          "lowest frequencies of rows, and of columns, that a block mixes; at most half of "
                          "them")),
      of_labels(
          RIESZ_SWITCH(model.new_head,
                       "whether a new classifier is drawn, for the labels of the data, in place of that "
                       "of model.from")),
      only(kind, {"gptj"},
           RIESZ_INTEGER(model.rotary_dims, 0, kNoLimit,
                         "dims of each head that turn with the position, an even number; 0: all")),
      only(kind, {"llama", "mixtral", "qwen2_moe"},
           RIESZ_NUMBER(model.rotary_base, 1, kNoLimit,
                        "base of the angles by which heads turn with the position, rope_theta")),
      only(kind, {"gpt2", "gpt2_moe", "gptj", "llama", "mixtral", "qwen2_moe", "vit", "resnet"},
           choice(RIESZ_TEXT(model.activation,
                             "of the MLP, or behind norms; gelu is GPT-2's, by tanh; gpt2, gpt2_moe, gptj "
                             "and vit have it unless this is given, resnet relu, others silu"),
                  {"gelu", "gelu_exact", "relu", "silu"})),
      of_transformers(RIESZ_NUMBER(model.epsilon, 1e-30, 1, "beside the variance, in the norms")),
      only(kind, {"gpt2", "gpt2_moe", "llama", "mixtral", "qwen2_moe"},
           RIESZ_SWITCH(model.tied, "whether the output layer's weight is the token table")),
      only(kind, {"gpt2", "gpt2_moe", "gptj", "vit"},
           RIESZ_NUMBER(model.dropout, 0, 0.99, "probability that an activation is dropped in training")),
  };
}

std::vector<Key> data_keys() {
  const auto of_images = [](Key key) { return only("data.task", {"images"}, std::move(key)); };
  const auto of_made = [](Key key) { return only("data.task", {"cells", "darcy"}, std::move(key)); };
  const auto of_files = [](Key key) { return only("data.task", {"masks", "fields"}, std::move(key)); };
  return {
      choice(
          RIESZ_TEXT(
              data.task,
              "what is learnt: sums of two numbers, the next byte, the next token, what images show, which "
              "pixels are of discs and which of ellipses, solutions of Darcy flow; or, from files, labels of "
              "pixels, or fields"),
          {"adder", "text", "tokens", "images", "cells", "darcy", "masks", "fields"}),
      only("data.task", {"adder"}, RIESZ_INTEGER(data.digits, 1, 3, "digits of each of the two numbers")),
      only("data.task", {"text"},
           path(RIESZ_TEXT(data.text, "a file of any bytes, or a folder, whose sources are read"))),
      only("data.task", {"tokens"},
           paths(RIESZ_TEXT(
               data.tokens,
               "a folder that riesz tokenize made, or several and their shares, such as A=3,B=1"))),
      only("data.task", {"tokens"},
           choice(
               RIESZ_TEXT(data.packing,
                          "how sequences lie in documents: one behind the other across them, or each in one"),
               {"packed", "one_by_one"})),
      only("data.task", {"text", "tokens"},
           RIESZ_INTEGER(data.length, 0, kNoLimit,
                         "tokens of a sequence; 0: as many as the model sees at once")),
      only("data.task", {"text", "tokens"},
           RIESZ_INTEGER(data.sample, 0, kNoLimit,
                         "bytes, or tokens, that the trained model writes at the end")),
      only("data.task", {"text", "tokens"},
           RIESZ_NUMBER(data.temperature, 0, 10,
                        "of that writing; 0 takes the likeliest byte or token each time")),
      of_images(path(RIESZ_TEXT(data.images,
                                "a folder with MNIST's files, or with a folder of PNG and JPEG files for "
                                "each label: docs/start/images.md"))),
      of_images(RIESZ_TEXT(data.mean,
                           "what is subtracted from pixels, which go from 0 to 1: a number, or one for each "
                           "channel, with commas")),
      of_images(RIESZ_TEXT(data.deviation, "what they are divided by then; likewise")),
      of_images(choice(RIESZ_TEXT(data.fit,
                                  "how an image that is not square becomes so: by a center crop, or it is "
                                  "stretched"),
                       {"crop", "stretch"})),
      of_images(
          RIESZ_INTEGER(data.resize, 0, kNoLimit,
                        "pixels of the shorter side, or of both where it is stretched, before the center "
                        "crop; 0: model.image")),
      of_images(choice(RIESZ_TEXT(data.interpolation, "how an image is resized"), {"bilinear", "bicubic"})),
      of_images(RIESZ_INTEGER(
          data.shift, 0, kNoLimit,
          "pixels by which an image is moved at most, down or up and to a side, each time it is trained on")),
      of_images(RIESZ_SWITCH(data.mirror, "whether every second image, drawn, is mirrored, left for right")),
      of_images(RIESZ_SWITCH(data.skip_damaged,
                             "whether image files that cannot be read are left out and counted; else the "
                             "first ends the training")),
      of_made(RIESZ_INTEGER(data.count, 2, kNoLimit, "images or fields that are made")),
      of_made(RIESZ_INTEGER(data.seed, 0, kNoLimit, "decides what they are")),
      of_files(path(RIESZ_TEXT(data.inputs,
                               "a file of what the model is given, FILE.npy or FILE.h5:DATASET, of (rows, "
                               "height, width) or (rows, channels, height, width)"))),
      of_files(path(RIESZ_TEXT(data.targets,
                               "a file of what it is to find: of masks the labels of pixels, integers of "
                               "(rows, height, width); else fields, in the form of data.inputs"))),
      only("data.task", {"masks"},
           RIESZ_INTEGER(data.labels, 2, 65536, "labels of masks, which are numbers from 0 to one below it")),
      of_files(
          choice(RIESZ_TEXT(data.normalise,
                            "how numbers are brought to about unit size: of each channel of the inputs the "
                            "mean and the deviation over the training rows become 0 and 1, and target "
                            "fields are divided by their root mean square; or they are as in the files"),
                 {"moments", "none"})),
      RIESZ_NUMBER(data.held_out, 0.0001, 0.9,
                   "part of the data that is kept out of training, of files the first rows; not read where a "
                   "folder of images says which"),
  };
}

std::vector<Key> general_keys() {
  return {
      choice(RIESZ_TEXT(device,
                        "where the model computes; cuda: each rank on the GPU that has the rank's number "
                        "among the ranks of its host"),
             {"cpu", "cuda"}),
      choice(RIESZ_TEXT(precision,
                        "the type of parameters, and of all else unless compute says another; sums, masters "
                        "and the optimizer's state are fp32"),
             {"fp32", "bf16", "fp16"}),
      only("precision", {"fp32"},
           choice(RIESZ_TEXT(compute,
                             "the type in which matrices are multiplied and attention is computed: that of "
                             "the parameters, or another to which operands are cast before they move"),
                  {"same", "bf16", "fp16"})),
      only("device", {"cuda"},
           RIESZ_SWITCH(tf32,
                        "whether a GPU may round fp32 operands of products to tf32, which has 10 bits after "
                        "the point: faster, and right to 3 digits"))};
}

std::vector<Key> schedule_keys() {
  const char* kind = "schedule.kind";
  const std::vector<std::string> warmed{"cosine", "linear", "constant"};
  const auto of_momentum = [&](Key key) {
    return only("optimizer.kind", {"adamw", "adam", "sgd", "lamb", "one_bit_adam"},
                only(kind, {"one_cycle"}, std::move(key)));
  };
  return {
      choice(RIESZ_TEXT(schedule.kind,
                        "how the learning rate goes: up and then down by half a cosine or a "
                        "line, up and on, up and down once, or ever up"),
             {"cosine", "linear", "constant", "one_cycle", "range_test"}),
      only(kind, warmed,
           RIESZ_INTEGER(schedule.warm_up, 0, kNoLimit,
                         "steps over which it rises, from 1/warm_up of its highest")),
      only(kind, {"cosine", "linear", "one_cycle", "range_test"},
           RIESZ_NUMBER(schedule.floor, 0, 10, "the least: at the end, or where a cycle or a test begins")),
      only(kind, {"one_cycle"}, RIESZ_INTEGER(schedule.rise, 1, kNoLimit, "steps up to the highest")),
      only(kind, {"one_cycle"}, RIESZ_INTEGER(schedule.fall, 1, kNoLimit, "steps down to the least")),
      only(
          kind, {"one_cycle"},
          RIESZ_NUMBER(schedule.decay, 0, kNoLimit, "after the cycle it is least/(1 + decay·k/decay_steps)")),
      only(kind, {"one_cycle"}, RIESZ_INTEGER(schedule.decay_steps, 0, kNoLimit, "0: no decay")),
      of_momentum(
          RIESZ_NUMBER(schedule.least_momentum, 0, 0.999999, "momentum or beta1 at the highest rate")),
      of_momentum(
          RIESZ_NUMBER(schedule.greatest_momentum, 0, 0.999999, "momentum or beta1 at the least rate")),
      only(kind, {"range_test"},
           RIESZ_NUMBER(schedule.growth, 0, kNoLimit,
                        "growth of the rate in an interval, in parts of the least")),
      only(kind, {"range_test"}, RIESZ_INTEGER(schedule.interval, 1, kNoLimit, "steps of an interval")),
      only(
          kind, {"one_cycle", "range_test"},
          RIESZ_INTEGER(schedule.stairs, 0, kNoLimit,
                        "steps that it takes up and down instead of a line (a test: 1, an interval each); 0: "
                        "none")),
  };
}

std::vector<Key> train_keys() {
  return {
      RIESZ_INTEGER(train.steps, 1, kNoLimit, "updates of the weights"),
      RIESZ_INTEGER(train.batch, 1, kNoLimit, "sequences, or images, of a step, over all workers"),
      RIESZ_INTEGER(
          train.micro_batches, 0, kNoLimit,
          "parts of a batch that go through the model one after another; a pipeline has them all "
          "under way together; 0: 1, or in a pipeline twice layout.pp, but with batch norms there is "
          "no such default"),
      RIESZ_INTEGER(train.seed, 0, kNoLimit,
                    "decides initial weights, dropout, the order of data and the sample"),
      RIESZ_TEXT(train.frozen,
                 "patterns of modules and parameters that are not trained, such as transformer.w?e "
                 "transformer.h.[0-3]: they have no gradients and no optimizer state; empty: none"),
      RIESZ_INTEGER(train.eval_every, 1, kNoLimit, "steps between measurements of the held-out loss"),
      RIESZ_INTEGER(train.eval_size, 1, kNoLimit,
                    "held-out sequences, or images, that a measurement reads, or all if they are fewer"),
      RIESZ_TEXT(train.profile,
                 "steps whose operators, layers, kernels and waits output.folder/trace.json shows, first to "
                 "last, such as 3:6; empty: none"),
      RIESZ_SWITCH(train.nvtx,
                   "whether steps, phases, layers and operators are ranges for NVIDIA's profilers, such as "
                   "nsys; it needs libriesz_cuda.so, and train.profile empty"),
  };
}

std::vector<Key> checkpoint_keys() {
  const auto of_saved = [](Key key) { return only("checkpoint.save", {"true"}, std::move(key)); };
  return {
      RIESZ_SWITCH(checkpoint.save,
                   "whether the last step has a checkpoint, from which --resume goes on, and riesz generate "
                   "takes the model; false: the trained model is lost"),
      of_saved(RIESZ_SWITCH(checkpoint.best,
                            "whether a step has one too whose measured held-out loss is the least so far; "
                            "the best one stays")),
      of_saved(RIESZ_INTEGER(checkpoint.every, 0, kNoLimit,
                             "steps between further checkpoints; 0: there are no further ones")),
      of_saved(RIESZ_INTEGER(checkpoint.keep, 0, kNoLimit,
                             "how many of the last are kept, beside the best one; 0: all")),
      of_saved(RIESZ_SWITCH(
          checkpoint.background,
          "whether they are written while training goes on, from a copy of what a worker writes")),
      RIESZ_TEXT(checkpoint.folder, "where they go, as checkpoint-STEP; empty: output.folder"),
  };
}

std::vector<Key> output_keys() {
  return {
      RIESZ_TEXT(output.folder, "where results go; empty: runs/ and the configuration's name"),
      choice(RIESZ_TEXT(output.progress,
                        "one line that rewrites itself, lines now and then, or none; auto looks"),
             {"auto", "terminal", "log", "none"}),
      only("model.kind", {"unet", "fno"},
           RIESZ_INTEGER(output.pictures, 0, 64,
                         "held-out images or fields that output.folder/pictures.png shows, each beside what "
                         "is right and what the trained model predicts; 0: none")),
  };
}

}  // namespace

std::vector<Key> all_keys() {
  std::vector<Key> all;
  for (const auto& section : {general_keys(), detail::layout_keys(), detail::pipeline_keys(), model_keys(),
                              data_keys(), detail::optimizer_keys(), detail::offload_keys(), schedule_keys(),
                              train_keys(), checkpoint_keys(), output_keys()}) {
    all.insert(all.end(), section.begin(), section.end());
  }
  return all;
}

}  // namespace riesz
