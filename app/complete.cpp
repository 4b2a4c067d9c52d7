// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/complete.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <variant>
#include <vector>

#include "riesz/train/config/schema.h"

namespace riesz::app {
namespace {

using Words = std::vector<std::string>;

std::string joined(const Words& words, const std::string& before = "", const std::string& after = "") {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + before + word + after;
  return text;
}

/// What an option or an argument may be, if that is a list: of "TEXT:{fp32,bf16}" its words.
Words values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{'), end = type.find('}');
  Words values;
  if (begin == std::string::npos || end == std::string::npos) return values;
  for (std::size_t at = begin + 1; at < end;) {
    const std::size_t comma = std::min(type.find(',', at), end);
    values.push_back(type.substr(at, comma - at));
    at = comma + 1;
  }
  return values;
}

Words values_of(const Key& key) {
  if (std::holds_alternative<bool& (*)(Config&)>(key.field)) return {"true", "false"};
  return key.choices;
}

/// A command, as shells see it.
struct Completed {
  std::string name, about;
  std::vector<const CLI::Option*> options;
  Words option_names;
  Words words;                          ///< what its first argument may be, if that is a list
  Words keys;                           ///< "layout.tp="
  Words settings;                       ///< "layout.tensor=1d": keys with their values
  std::map<std::string, Words> values;  ///< of options and keys that have such a list
};

Completed completed(const CLI::App& program, const CLI::App& command, const Words& keys) {
  Completed all{command.get_name(), command.get_description(), {}, option_names(command), {}, {}, {}, {}};
  for (const CLI::Option* option : command.get_options()) {
    const Words values = values_of(*option);
    if (option->nonpositional()) all.options.push_back(option);
    if (!option->nonpositional()) std::copy(values.begin(), values.end(), std::back_inserter(all.words));
    if (values.empty()) continue;
    for (const std::string& name : option->get_lnames()) all.values["--" + name] = values;
  }
  if (all.name == "help") {
    all.words = command_names(program);
    all.words.insert(all.words.end(), {"keys", "environment"});
  }
  for (const std::string& name : keys) {
    all.keys.push_back(name + "=");
    const Words values = values_of(*find_key(name));
    if (values.empty()) continue;
    all.values[name] = values;
    for (const std::string& value : values) all.settings.push_back(name + "=" + value);
  }
  return all;
}

/// Within a single-quoted word of a shell.
std::string quoted(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return "'" + result + "'";
}

/// For bash a "=" is a word of its own.
constexpr const char* kBash = R"(
  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" values=
  if [ "$word" = = ]; then
    word=
  elif [ "$before" = = ]; then
    before="${COMP_WORDS[COMP_CWORD-2]}"
  fi
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W "$commands --version --help" -- "$word"))
    return
  fi
)";

constexpr const char* kBashEnd = R"(
  if [ -n "$values" ]; then
    COMPREPLY=($(compgen -W "$values" -- "$word"))
  elif [[ "$word" = -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  elif [ "$COMP_CWORD" = 2 ]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  elif [ -n "$keys" ]; then
    COMPREPLY=($(compgen -W "$keys" -- "$word"))
    [[ "${COMPREPLY[*]}" != *= ]] || compopt -o nospace 2>/dev/null
  fi
}
complete -o default -F _riesz riesz
)";

std::string bash(const std::vector<Completed>& commands, const Words& names) {
  std::string text = "_riesz() {\n  local options= words= keys= commands=" + quoted(joined(names)) + kBash +
                     "  case \"${COMP_WORDS[1]}\" in\n";
  for (const Completed& command : commands) {
    text += "    " + command.name + ")\n      options=" + quoted(joined(command.option_names)) +
            "\n      words=" + quoted(joined(command.words)) +
            "\n      keys=" + quoted(joined(command.keys)) + "\n      case \"$before\" in\n";
    for (const auto& [name, values] : command.values)
      text += "        " + name + ") values=" + quoted(joined(values)) + " ;;\n";
    text += "      esac ;;\n";
  }
  return text + "  esac" + kBashEnd;
}

std::string zsh(const std::vector<Completed>& commands) {
  std::string described, cases;
  for (const Completed& command : commands) {
    described += "    " + quoted(command.name + ":" + command.about) + "\n";
    cases += "    " + command.name + ")\n      options=(" + joined(command.option_names) +
             ")\n      words_=(" + joined(command.words) + ")\n      keys=(" + joined(command.keys) +
             ")\n      settings=(" + joined(command.settings) + ")\n      case $words[CURRENT-1] in\n";
    for (const auto& [name, values] : command.values) {
      if (name.starts_with("-")) cases += "        " + name + ") values=(" + joined(values) + ") ;;\n";
    }
    cases += "      esac ;;\n";
  }
  return "#compdef riesz\n_riesz() {\n  local -a commands options words_ keys settings values\n  "
         "commands=(\n" +
         described +
         "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    compadd -- --version "
         "--help\n"
         "    return\n  fi\n  case $words[2] in\n" +
         cases +
         "  esac\n  if (( $#values )); then\n    compadd -- $values\n"
         "  elif [[ $words[CURRENT] == -* ]]; then\n    compadd -- $options\n"
         "  elif [[ $words[CURRENT] == *=* ]]; then\n    compadd -- $settings\n    _files\n"
         "  elif (( CURRENT == 3 )); then\n    compadd -- $words_\n    _files\n"
         "  else\n    compadd -S '' -- $keys\n    _files\n  fi\n}\n"
         // Loaded by its name at the first TAB, it is called; read by source, it is made known.
         "if [ \"$funcstack[1]\" = _riesz ]; then\n  _riesz \"$@\"\nelse\n  compdef _riesz riesz\nfi\n";
}

std::string fish(const std::vector<Completed>& commands) {
  std::string text;
  std::map<std::string, Words> takers;  // a key's commands
  for (const Completed& command : commands) {
    const std::string in = "complete -c riesz -n '__fish_seen_subcommand_from " + command.name + "'";
    text += "complete -c riesz -n __fish_use_subcommand -a " + command.name + " -d " + quoted(command.about) +
            "\n";
    if (!command.words.empty()) text += in + " -a " + quoted(joined(command.words)) + "\n";
    for (const CLI::Option* option : command.options) {
      text += in;
      for (const std::string& name : option->get_snames()) text += " -s " + name;
      for (const std::string& name : option->get_lnames()) text += " -l " + name;
      const Words values = values_of(*option);
      if (!values.empty())
        text += " -x -a " + quoted(joined(values));
      else if (option->get_items_expected_max() > 0)
        text += " -r";
      text += " -d " + quoted(option->get_description()) + "\n";
    }
    for (const std::string& key : command.keys) takers[key.substr(0, key.size() - 1)].push_back(command.name);
  }
  for (const auto& [name, of] : takers) {
    const Key& key = *find_key(name);
    const Words values = values_of(key);
    text += "complete -c riesz -n '__fish_seen_subcommand_from " + joined(of) + "' -a " +
            quoted(values.empty() ? name + "=" : joined(values, name + "=")) + " -d " + quoted(key.meaning) +
            "\n";
  }
  return text;
}

}  // namespace

std::string completion(const CLI::App& program, const CommandKeys& keys, const std::string& shell) {
  std::vector<Completed> commands;
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    const auto taken = keys.find(command->get_name());
    commands.push_back(completed(program, *command, taken == keys.end() ? Words{} : taken->second));
  }
  if (shell == "bash") return bash(commands, command_names(program));
  return shell == "zsh" ? zsh(commands) : fish(commands);
}

}  // namespace riesz::app
