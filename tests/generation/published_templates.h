// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Chat templates as they are published, and what Jinja 3.1 makes of them as Hugging Face's libraries call it
// (trim_blocks, lstrip_blocks).
#pragma once

namespace riesz::testing {

constexpr const char* kSmolLm2 =
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '"
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
    "<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'"
    "] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assis"
    "tant\n' }}{% endif %}";

constexpr const char* kLlama3 =
    "{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|"
    "start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | tri"
    "m + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% en"
    "dif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assi"
    "stant<|end_header_id|>\n\n' }}{% endif %}";

constexpr const char* kTinyLlama =
    "{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\n' + mes"
    "sage['content'] + eos_token }}\n{% elif message['role'] == 'system' %}\n{{ '<|system|>\n"
    "' + message['content'] + eos_token }}\n{% elif message['role'] == 'assistant' %}\n{{ '<|"
    "assistant|>\n'  + message['content'] + eos_token }}\n{% endif %}\n{% if loop.last and ad"
    "d_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}";

constexpr const char* kLlama2 =
    "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set sys"
    "tem_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% se"
    "t system_message = false %}{% endif %}{% for message in loop_messages %}{% if (message['"
    "role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles mus"
    "t alternate user/assistant/user/assistant/...') }}{% endif %}{% if loop.index0 == 0 and "
    "system_message != false %}{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\"
    "n\\n' + message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}"
    "{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]"
    "' }}{% elif message['role'] == 'assistant' %}{{ ' '  + content.strip() + ' ' + eos_token"
    " }}{% endif %}{% endfor %}";

constexpr const char* kWhiteSpace =
    "  {%- for m in messages -%}\n  {#- comment '%}' -#}\n   {{- m.role ~ loop.index -}}  : \n"
    "  {% if not loop.last %}\n, {% else %}\n ! \n  {%+ endif +%}\nx\n {% set a = [1, 'b'] %}"
    "{{ a[-1] if m.role in ['user'] else a[0] * 7 // 2 - -3 }}{{ missing }}{{ missing is defi"
    "ned or m.content is string }}\n{%- endfor %}\n\n";

}  // namespace riesz::testing
