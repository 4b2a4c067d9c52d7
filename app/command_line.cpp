// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/command_line.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "riesz/app/commands/all_commands.h"
#include "riesz/app/describe.h"
#include "riesz/app/launch.h"
#include "riesz/app/version.h"
#include "riesz/comm/launcher.h"
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
  // Said by read(); here for the help, the man page and completion.
  program_.add_subcommand("help",
                          "Prints this help, or a command's, or all keys: riesz help train, riesz help keys");
  program_.add_subcommand("completion",
                          "Prints a script that completes words: riesz completion bash, zsh or fish");
  program_.add_subcommand("man", "Prints the manual page");
}

CommandLine::End CommandLine::refuse(const std::string& what, const std::string& help) const {
  return {2, "riesz: " + what + "; see riesz " + (help.empty() ? "" : help + " ") + "--help\n"};
}

/// The message of CLI11, or of an option that is not there the nearest that is.
std::string CommandLine::unknown_option(const CLI::ParseError& error) const {
  if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::ExtrasError)) return in_short(error.what());
  CLI::App& command = chosen_->options();
  for (const std::string& word : command.remaining()) {
    if (!word.starts_with("-")) continue;
    const std::string given = word.substr(0, word.find('='));
    const std::string near = nearest_of(given, option_names(command));
    return "there is no option " + in_quotes(given) + (near.empty() ? "" : "; did you mean " + near + "?");
  }
  return in_short(error.what());
}

/// "--resume=yes" would be read in a way that nobody has written down. Returns how the flag is used.
std::string CommandLine::flag_with_a_value(const std::vector<std::string>& words) const {
  for (const std::string& word : words) {
    if (word == "--") break;
    const std::string name = word.substr(0, word.find('='));
    if (name == word || !word.starts_with("--")) continue;
    const CLI::Option* option = chosen_->options().get_option_no_throw(name);
    if (option == nullptr || option->get_items_expected_max() > 0) continue;
    return name + " takes no value, and has " + in_quotes(word.substr(name.size() + 1)) + ": write " + name +
           " alone, or leave it out";
  }
  return "";
}

std::optional<CommandLine::End> CommandLine::read(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const std::string first = words.empty() ? "" : words[0];
  const std::vector<std::string> names = command_names(program_);
  if (first == "--version") return End{0, version_text()};
  if (first == "--help" || first == "-h" || (first == "help" && words.size() == 1))
    return End{0, program_.help()};
  if (first == "man") return End{0, man_page(program_)};
  if (first == "completion") {
    const std::string script = completion(program_, words.size() > 1 ? words[1] : "");
    if (script.empty()) return refuse("completion: name a shell, bash, zsh or fish", "");
    return End{0, script};
  }
  const bool help = first == "help";
  const std::string name = help ? words[1] : first;
  if (help && name == "--markdown") return End{0, commands_markdown(program_)};
  if (help && name == "keys") {
    const bool markdown = words.size() > 2 && words[2] == "--markdown";
    return End{0, markdown ? schema_markdown() : schema_text()};
  }
  if (name.empty()) return refuse("name a command: " + list_of(names), "");
  if (!name.starts_with("-") && std::count(names.begin(), names.end(), name) == 0) {
    const std::string near = nearest_of(name, names);
    return refuse("there is no command " + in_quotes(name) +
                      (near.empty() ? ", only " + list_of(names) : "; did you mean " + in_quotes(near) + "?"),
                  "");
  }
  if (help) words = {name, "--help"};
  return read_words(std::move(words));
}

std::optional<CommandLine::End> CommandLine::read_words(std::vector<std::string> words) {
  for (const auto& command : commands_) {
    if (command->options().get_name() == words[0]) chosen_ = command.get();
  }
  const std::string name = chosen_ == nullptr ? "" : words[0];
  const std::string flag = chosen_ == nullptr ? "" : flag_with_a_value(words);
  if (!flag.empty()) return refuse(name + ": " + flag, name);
  try {
    if (chosen_ != nullptr && chosen_->layout_words() != nullptr)
      take_layout(chosen_->options(), words, *chosen_->layout_words());
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    program_.parse(std::move(words));
    if (chosen_ == nullptr) return End{0, program_.help()};
    chosen_->check();
    if (chosen_->ranks() && launched_rank())
      return refuse(name + ": -n " + std::to_string(*chosen_->ranks()) +
                        " starts ranks, and a launcher has started these already; leave out one of the two",
                    name);
  } catch (const CLI::CallForHelp&) {
    return End{0, program_.help()};
  } catch (const CLI::ParseError& error) {
    return refuse(
        (name.empty() ? "" : name + ": ") + (name.empty() ? in_short(error.what()) : unknown_option(error)),
        name);
  } catch (const std::exception& error) {
    return End{2, "riesz: " + name + ": " + error.what() + "\n"};
  }
  return std::nullopt;
}

}  // namespace riesz::app
