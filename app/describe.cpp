// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/describe.h"

#include <algorithm>

namespace riesz::app {

std::vector<std::string> command_names(const CLI::App& program) {
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 < names.size() ? ", " : " or ") + names[i];
  return text;
}

namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& program) {
  return program.get_subcommands([](const CLI::App*) { return true; });
}

/// As it is written: "-o, --output FOLDER", "PROMPT".
std::string spelling(const CLI::Option& option) {
  std::string text = option.get_name(true, true);
  for (std::size_t comma = text.find(','); comma != std::string::npos; comma = text.find(',', comma + 2))
    text.replace(comma, 1, ", ");
  const bool flag = option.get_items_expected_max() == 0;
  if (!option.nonpositional() || flag) return text;
  return text + " " + (option.get_type_name().empty() ? "TEXT" : option.get_type_name());
}

/// The synopsis: arguments in their order, those that may be left out in brackets.
std::string usage(const CLI::App& command) {
  std::string text = "riesz " + command.get_name();
  for (const CLI::Option* option : command.get_options()) {
    if (option->nonpositional()) continue;
    const std::string name = option->get_name(true, false);
    text += " " + (option->get_required() ? name : "[" + name + "]");
  }
  return text + " [option ...]";
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string bash(const CLI::App& program) {
  std::string cases;
  for (const CLI::App* command : commands_of(program))
    cases += "    " + command->get_name() + ") options=\"" + joined(option_names(*command)) + "\" ;;\n";
  return "_riesz() {\n  local word=\"${COMP_WORDS[COMP_CWORD]}\" options=\n"
         "  if [ \"$COMP_CWORD\" = 1 ]; then\n    COMPREPLY=($(compgen -W \"" +
         joined(command_names(program)) +
         " --version --help\" -- \"$word\"))\n    return\n  fi\n  case \"${COMP_WORDS[1]}\" in\n" + cases +
         "  esac\n  case \"$word\" in\n    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
         "    *) COMPREPLY=() ;;\n  esac\n}\ncomplete -o default -F _riesz riesz\n";
}

/// Within a single-quoted word of a shell.
std::string quoted(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return "'" + result + "'";
}

std::string zsh(const CLI::App& program) {
  std::string commands, cases;
  for (const CLI::App* command : commands_of(program)) {
    commands += "    " + quoted(command->get_name() + ":" + command->get_description()) + "\n";
    cases += "    " + command->get_name() + ") options=(" + joined(option_names(*command)) + ") ;;\n";
  }
  return "#compdef riesz\n_riesz() {\n  local -a commands options\n  commands=(\n" + commands +
         "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
         "  case $words[2] in\n" +
         cases +
         "  esac\n  if [[ $words[CURRENT] == -* ]]; then\n    compadd -- $options\n  else\n    _files\n  "
         "fi\n}\n"
         "compdef _riesz riesz\n";
}

std::string fish(const CLI::App& program) {
  const std::string first = "complete -c riesz -n __fish_use_subcommand ";
  std::string text;
  for (const CLI::App* command : commands_of(program)) {
    text += first + "-a " + command->get_name() + " -d " + quoted(command->get_description()) + "\n";
    for (const CLI::Option* option : command->get_options()) {
      if (!option->nonpositional()) continue;
      text += "complete -c riesz -n '__fish_seen_subcommand_from " + command->get_name() + "'";
      for (const std::string& name : option->get_snames()) text += " -s " + name;
      for (const std::string& name : option->get_lnames()) text += " -l " + name;
      if (option->get_items_expected_max() > 0) text += " -r";
      text += " -d " + quoted(option->get_description()) + "\n";
    }
  }
  return text;
}

/// For roff: backslashes, hyphens and a line's first dot are no commands.
std::string roff(const std::string& text) {
  std::string result;
  bool begin = true;
  for (const char c : text) {
    if (begin && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
    begin = c == '\n';
  }
  return result;
}

/// In a table of Markdown.
std::string cell(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '|' ? std::string("\\|") : std::string(1, c);
  return result;
}

std::string default_of(const CLI::Option& option) {
  const std::string text = option.get_default_str();
  return text.empty() || option.get_items_expected_max() == 0 ? "" : "; default " + text;
}

}  // namespace

std::string completion(const CLI::App& program, const std::string& shell) {
  if (shell == "bash") return bash(program);
  if (shell == "zsh") return zsh(program);
  return shell == "fish" ? fish(program) : "";
}

std::string man_page(const CLI::App& program) {
  std::string text = ".TH RIESZ 1\n.SH NAME\nriesz \\- " + roff(program.get_description()) +
                     "\n.SH SYNOPSIS\n.B riesz\n.I COMMAND\n[argument ...] [option ...]\n.SH COMMANDS\n";
  for (const CLI::App* command : commands_of(program)) {
    text += ".SS " + roff(usage(*command)) + "\n" + roff(command->get_description()) + ".\n";
    for (const CLI::Option* option : command->get_options())
      text += ".TP\n.B " + roff(spelling(*option)) + "\n" +
              roff(option->get_description() + default_of(*option)) + "\n";
    if (!command->get_footer().empty()) text += ".PP\n.nf\n" + roff(command->get_footer()) + "\n.fi\n";
  }
  return text +
         ".SH EXIT STATUS\n0: all went well. 2: the command line is wrong. 71: an error that is printed.\n";
}

std::string commands_markdown(const CLI::App& program) {
  std::string text;
  for (const CLI::App* command : commands_of(program)) {
    text += "### riesz " + command->get_name() + "\n\n" + command->get_description() + ".\n\n```\n" +
            usage(*command) + "\n```\n\n";
    const std::vector<const CLI::Option*> options = command->get_options();
    if (options.size() > 1) text += "| option | meaning |\n|---|---|\n";
    for (const CLI::Option* option : options) {
      if (options.size() > 1)
        text += "| " + cell("`" + spelling(*option) + "` ") + "| " +
                cell(option->get_description() + default_of(*option)) + " |\n";
    }
    text += options.size() > 1 ? "\n" : "";
  }
  return text;
}

}  // namespace riesz::app
