// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Models' sizes from and to the config.json of Hugging Face's folders. Local.
#pragma once

#include <string>
#include <vector>

#include "riesz/models/fourier_neural_operator.h"
#include "riesz/models/gpt2_moe.h"
#include "riesz/models/gpt_j.h"
#include "riesz/models/llama.h"
#include "riesz/models/min_gpt.h"
#include "riesz/models/mixtral.h"
#include "riesz/models/qwen2_moe.h"
#include "riesz/models/resnet.h"
#include "riesz/models/unet.h"
#include "riesz/models/vit.h"

namespace riesz::models {

/// The kind in the text of a config.json: "gpt2", "gptj", "llama", "vit", "resnet" … @throws Error unless it
/// is a JSON object that names a model_type.
std::string model_type_of(const std::string& config_json);

// The configuration that the text of a config.json describes, of a model that computes just that.
// @throws Error naming the key: where it is of another type; where it asks for what the model does not do;
// where nobody knows it.

/// Reads the sizes of "gpt2"; minGPT's class computes it.
MinGptConfig gpt2_config(const std::string& config_json);
/// Reads the sizes of "gptj".
GptJConfig gpt_j_config(const std::string& config_json);
/// Reads the sizes of "llama".
LlamaConfig llama_config(const std::string& config_json);
/// Reads the sizes of "mixtral". Training adds the balance loss times router_aux_loss_coef where
/// output_router_logits is true, as transformers does.
MixtralConfig mixtral_config(const std::string& config_json);
/// Reads the sizes of "qwen2_moe", likewise, if experts are in all its blocks and no attention slides.
Qwen2MoeConfig qwen2_moe_config(const std::string& config_json);
/// Reads the sizes of "gpt2_moe", a kind of this library. It has the keys of "gpt2", num_experts,
/// num_experts_per_tok, decoder_sparse_step, capacity_factor, router_z_loss_coef, and those of the balance.
/// Their names are those of other models with experts.
Gpt2MoeConfig gpt2_moe_config(const std::string& config_json);
/// Reads the sizes of "vit", with the classifier's labels from num_labels or id2label.
VitConfig vit_config(const std::string& config_json);
/// Reads the sizes of "resnet", likewise. The size of images is image_size, or 224.
ResnetConfig resnet_config(const std::string& config_json);
/// Reads the sizes of "unet" and of "fno", kinds of this library.
UnetConfig unet_config(const std::string& config_json);
FourierNeuralOperatorConfig fourier_neural_operator_config(const std::string& config_json);

// The text of a config.json that other programs read. @post reading it gives the same configuration, but for
// `contraction`, which says how to compute and not what.
std::string config_json(const MinGptConfig& config);
std::string config_json(const GptJConfig& config);
std::string config_json(const LlamaConfig& config);
std::string config_json(const MixtralConfig& config);
std::string config_json(const Qwen2MoeConfig& config);
std::string config_json(const Gpt2MoeConfig& config);
/// `names`: of the labels, in the order of their numbers, each once, in UTF-8; none: LABEL_0, LABEL_1 ….
std::string config_json(const VitConfig& config, const std::vector<std::string>& names = {});
std::string config_json(const ResnetConfig& config, const std::vector<std::string>& names = {});
std::string config_json(const UnetConfig& config, const std::vector<std::string>& names = {});
/// A field has no labels, so no names.
std::string config_json(const FourierNeuralOperatorConfig& config,
                        const std::vector<std::string>& names = {});

}  // namespace riesz::models
