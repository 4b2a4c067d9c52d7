// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What Hugging Face's tokenizers 0.23.3 makes of a little text: the merges that its trainer learns, and how
// the vocabulary of them encodes samples, by the cuts of GPT-2, of SmolLM2 and of Llama 3.
#pragma once

#include <string>
#include <vector>

#include "riesz/io/tokenizer/token_id.h"

namespace riesz::testing {

inline const std::string kLearnt =
    "A space says who holds what; an operator moves vectors between spaces. The gradient of a value is a "
    "vector "
    "of the dual space, found through the inner product.\n\nIt's 2026: we've 1212 and 1212 numbers, they're "
    "tokens; I'm sure you'll read what's here, won't you?  Zwölf Boxkämpfer jagen Viktor quer über den "
    "Sylter "
    "Deich. Ceci n'est pas une pipe, déjà vu. 空間は誰が何を持つかを言う。 The space of spaces, the vectors "
    "of "
    "vectors.\n";

inline const std::string kMerges =
    "e r, t o, Ġ s, h e, p a, v e, to r, c e, e n, ã ģ, Ġ o, Ġ t, Ġ w, Ġs pa, Ġspa ce, 1 2, c tor, o u, Ġ a, "
    "Ġ ve, Ġo f, Ġt he, Ġve ctor, r e, Ġ d, Ġw h, Ġvector s, ' s, T he, a d, a l, a t, b er, n d, y ou, ã Ĥ, "
    "Ġ h, Ġ i, Ġ n, Ġ p, Ġ v, Ġ 12, Ġ The, Ġ you, Ġspace s, Ġwh at, ãĤ Ĵ, Ġ12 12";

inline const std::vector<std::string> kSamples = {
    "The vectors of the space's 1212 dual spaces, we've SEEN'S.", "  two  spaces\n\n\tand a tab ",
    "空間 déjà 🙂", "<|endoftext|>The<|endoftext|>", " and the product of 3²"};

using Ids = std::vector<TokenId>;
inline const std::vector<Ids> kAsGpt2 = {
    {284, 282, 276, 277, 270, 283, 303, 280, 84, 286, 300, 11,
     268, 68,  6,   261, 220, 50,  36,  36,  45, 6,   50,  13},
    {220, 267, 86, 78, 220, 300, 198, 198, 197, 64, 289, 274, 267, 64, 65, 220},
    {163, 102, 118, 165, 244, 241, 280, 127, 102, 73, 127, 254, 220, 172, 253, 247, 224},
    {304, 284, 304},
    {274, 289, 277, 295, 81, 78, 67, 84, 66, 83, 276, 220, 18, 126, 110}};
inline const Ids kFirstAsSmolLm2 = {284, 282, 276, 277, 270, 283, 220, 16, 17, 16, 17, 280, 84, 286,
                                    300, 11,  268, 68,  6,   261, 220, 50, 36, 36, 45, 6,   50, 13};
/// With a template that puts 321 before the text, and " product", 320, as a word without merges.
inline const std::vector<Ids> kAsLlama3 = {
    {321, 284, 282, 276, 277, 270, 283, 220, 271, 16, 17, 280, 84, 286,
     300, 11,  268, 68,  6,   261, 220, 50,  36,  36, 45, 6,   50, 13},
    {321, 220, 267, 86, 78, 220, 300, 198, 198, 197, 64, 289, 274, 267, 64, 65, 220},
    {321, 163, 102, 118, 165, 244, 241, 280, 127, 102, 73, 127, 254, 220, 172, 253, 247, 224},
    {321, 304, 284, 304},
    {321, 274, 289, 277, 320, 276, 220, 18, 126, 110}};

}  // namespace riesz::testing
