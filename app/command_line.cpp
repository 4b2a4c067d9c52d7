// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/command_line.h"

#include <algorithm>
#include <exception>
#include <map>
#include <utility>

#include "riesz/app/commands/all_commands.h"
#include "riesz/app/complete.h"
#include "riesz/app/describe.h"
#include "riesz/app/launch.h"
#include "riesz/app/version.h"
#include "riesz/comm/start/launcher.h"
#include "riesz/io/escaped.h"
#include "riesz/train/config/nearest.h"
#include "riesz/train/config/schema.h"

namespace riesz::app {
namespace {

/// Is it layout=… or layout.KEY=…?
bool is_layout_setting(const std::string& word) {
  const std::size_t equals = word.find('=');
  return equals != std::string::npos && (word.starts_with("layout=") || word.starts_with("layout.")) &&
         word.find_first_of(" \t\n") > equals;
}

/// Moves the settings of the layout before a "--" from the words to `settings`.
void take_layout(const CLI::App& command, std::vector<std::string>& words,
                 std::vector<std::string>& settings) {
  std::vector<std::string> others;
  const auto end = static_cast<std::size_t>(std::find(words.begin(), words.end(), "--") - words.begin());
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool taken = i < end && is_layout_setting(words[i]) && !is_value(command, words, i);
    (taken ? settings : others).push_back(words[i]);
  }
  words = std::move(others);
}

}  // namespace

CommandLine::CommandLine() : commands_(all_commands(program_)) {
  program_.require_subcommand(1);
  program_.set_version_flag("--version", "")
      ->description("Prints the version, and those of LibTorch and MPI");
  CLI::App& help = *program_.add_subcommand("help", "Prints this help, or a command's");
  help.add_option("WHAT", what_, "A command; keys: all keys of a training; or environment: the variables");
  help.add_flag("--markdown", markdown_, "As tables for a page");
  CLI::App& script =
      *program_.add_subcommand("completion", "Prints a script by which a shell completes words");
  script.add_option("SHELL", shell_, "The shell")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  program_.add_subcommand("man", "Prints the manual page");
}

CommandLine::End CommandLine::refuse(const std::string& what, const std::string& help) const {
  return {2, "riesz: " + what + "; see riesz " + (help.empty() ? "" : help + " ") + "--help\n"};
}

std::optional<CommandLine::End> CommandLine::read(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty() || words[0].empty())
    return refuse("name a command: " + list_of(command_names(program_)), "");
  if (words[0].starts_with("-")) return of_program(words);
  const std::vector<std::string> names = command_names(program_);
  if (std::count(names.begin(), names.end(), words[0]) == 0) return no_command(words[0], names);
  return read_words(std::move(words));
}

/// The program's own options: each is alone.
CommandLine::End CommandLine::of_program(const std::vector<std::string>& words) const {
  const std::vector<std::string> names = option_names(program_);
  if (std::count(names.begin(), names.end(), words[0]) == 0) {
    const std::string near = nearest_of(words[0], names);
    return refuse("there is no option " + in_quotes(words[0]) +
                      (near.empty() ? "; name a command first" : "; did you mean " + near + "?"),
                  "");
  }
  if (words.size() > 1) return refuse(words[0] + " is given alone, without " + in_quotes(words[1]), "");
  return {0, words[0] == "--version" ? version_text() : program_.help()};
}

CommandLine::End CommandLine::no_command(const std::string& name,
                                         const std::vector<std::string>& names) const {
  std::vector<std::string> all = names;
  all.emplace_back("version");
  const std::string near = nearest_of(name, all);
  const std::string meant = near == "version" ? "--version" : in_quotes(near);
  return refuse("there is no command " + in_quotes(name) +
                    (near.empty() ? ", only " + list_of(names) : "; did you mean " + meant + "?"),
                "");
}

/// What is wrong with an option among the words, also where something else is missing; "": nothing.
std::string CommandLine::wrong_option(const CLI::App& command, const std::vector<std::string>& words) const {
  for (std::size_t i = 1; i < words.size() && words[i] != "--"; ++i) {
    const std::string& word = words[i];
    if (!word.starts_with("-") || word == "-" || is_value(command, words, i)) continue;
    const std::string name = word.starts_with("--") ? word.substr(0, word.find('=')) : word.substr(0, 2);
    const CLI::Option* option = command.get_option_no_throw(name);
    if (option == nullptr) return "there is no option " + in_quotes(name) + meant_by(command, name);
    // "--resume=yes" would be read in a way that nobody has written down.
    if (name != word && word.starts_with("--") && option->get_items_expected_max() == 0)
      return name + " takes no value, and has " + in_quotes(word.substr(name.size() + 1)) + ": write " +
             name + " alone, or leave it out";
  }
  return "";
}

/// The option, or the key of a command that takes keys, that a wrong option's name may mean.
std::string CommandLine::meant_by(const CLI::App& command, const std::string& name) const {
  const std::vector<std::string> keys = chosen_ == nullptr ? std::vector<std::string>() : chosen_->keys();
  if ((name == "-n" || name == "--ranks") && std::count(keys.begin(), keys.end(), "layout.dp") > 0)
    return ": it is one process, and how many ranks it tells of the layout.* keys say";
  std::string near = nearest_of(name, option_names(command));
  if (near.empty() && chosen_ != nullptr) {
    std::string key = name.substr(std::min(name.find_first_not_of('-'), name.size()));
    std::replace(key.begin(), key.end(), '-', '_');
    key = nearest_key(key);
    if (std::count(keys.begin(), keys.end(), key) > 0) near = "the key " + key + "=VALUE";
  }
  return near.empty() ? "" : "; did you mean " + near + "?";
}

/// help, completion and man, once read.
CommandLine::End CommandLine::said(const std::string& name) {
  std::map<std::string, std::vector<std::string>> keys;
  for (const auto& command : commands_) keys[command->options().get_name()] = command->keys();
  if (name == "man") return {0, man_page(program_, keys)};
  if (name == "completion") return {0, completion(program_, keys, shell_)};
  program_.clear();  // its help is that of what was read
  if (what_ == "keys") return {0, markdown_ ? schema_markdown() : schema_text()};
  if (what_ == "environment") return {0, markdown_ ? environment_markdown() : environment_text()};
  if (markdown_) return {0, commands_markdown(program_)};
  if (what_.empty()) return {0, program_.help()};
  const std::vector<std::string> names = command_names(program_);
  if (std::count(names.begin(), names.end(), what_) == 0) return no_command(what_, names);
  return {0, program_.get_subcommand(what_)->help("riesz")};
}

std::optional<CommandLine::End> CommandLine::read_words(std::vector<std::string> words) {
  const std::string name = words[0];
  for (const auto& command : commands_) {
    if (command->options().get_name() == name) chosen_ = command.get();
  }
  const std::string wrong = wrong_option(*program_.get_subcommand(name), words);
  if (!wrong.empty()) return refuse(name + ": " + wrong, name);
  try {
    if (chosen_ != nullptr && chosen_->layout_words() != nullptr)
      take_layout(chosen_->options(), words, *chosen_->layout_words());
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    program_.parse(std::move(words));
    if (chosen_ == nullptr) return said(name);
    chosen_->check();
    if (chosen_->ranks() && launched_rank())
      return refuse(name + ": -n " + std::to_string(*chosen_->ranks()) +
                        " starts ranks, and a launcher has started these already; leave out one of the two",
                    name);
  } catch (const CLI::CallForHelp&) {
    return End{0, program_.help()};
  } catch (const CLI::ParseError& error) {
    return refuse(name + ": " + in_short(error.what()), name);
  } catch (const std::exception& error) {
    return End{2, "riesz: " + name + ": " + error.what() + "\n"};
  }
  return std::nullopt;
}

}  // namespace riesz::app
