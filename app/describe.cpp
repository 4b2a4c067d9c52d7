// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/describe.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <sstream>
#include <string_view>

#include "riesz/comm/table_text.h"
#include "riesz/io/tokenizer/unicode.h"
#include "riesz/train/config/schema.h"

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

/// Its shortest form: "-o FOLDER".
std::string shortest(const CLI::Option& option) {
  const std::string name =
      option.get_snames().empty() ? "--" + option.get_lnames().front() : "-" + option.get_snames().front();
  return name + " " + option.get_type_name();
}

/// An argument in the synopsis: in brackets if it may be left out, with dots if it may be given several
/// times.
std::string argument(const CLI::Option& option) {
  const std::string name = option.get_name(true, false) + (option.get_items_expected_max() > 1 ? " ..." : "");
  return option.get_required() ? name : "[" + name + "]";
}

/// The synopsis: arguments in their order, then the options that must be given.
std::string usage(const CLI::App& command) {
  std::string arguments, needed;
  bool optional = false;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->nonpositional())
      arguments += " " + argument(*option);
    else if (option->get_required())
      needed += " " + shortest(*option);
    else
      optional |= option != command.get_help_ptr();
  }
  return "riesz " + command.get_name() + arguments + needed + (optional ? " [option ...]" : "");
}

/// For roff: backslashes, hyphens and a line's first dot are no commands; what is no ASCII has its number.
std::string roff(const std::string& text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const Character character = first_character(std::string_view(text).substr(at));
    const char c = text[at];
    const bool begin = at == 0 || text[at - 1] == '\n';
    if (begin && (c == '.' || c == '\'')) result += "\\&";
    char number[16];
    std::snprintf(number, sizeof number, "\\[u%04X]", static_cast<unsigned>(character.code));
    result += character.size > 1 ? std::string(number)
              : c == '\\'        ? "\\e"
              : c == '-'         ? "\\-"
                                 : std::string(1, c);
    at += std::max<std::size_t>(1, character.size);
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

/// A paragraph; of lines that begin with spaces, and of commands, each stays a line.
std::string roff_lines(const std::string& text) {
  std::string result;
  bool kept = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const bool keep = line.starts_with(" ") || line.starts_with("riesz ");
    if (keep != kept) result += keep ? ".nf\n" : ".fi\n";
    kept = keep;
    result += line.empty() ? ".PP\n" : roff(line) + "\n";
  }
  return result + (kept ? ".fi\n" : "");
}

/// An entry of a list: its name, and what it is.
std::string roff_entry(const std::string& name, const std::string& about) {
  return ".TP\n.B " + roff(name) + "\n" + roff(about) + "\n";
}

std::string roff_command(const CLI::App& command, bool all_keys) {
  std::string text = ".SS " + roff(usage(command)) + "\n" + roff(command.get_description()) + ".\n";
  for (const CLI::Option* option : command.get_options())
    text += roff_entry(spelling(*option), option->get_description() + default_of(*option));
  if (all_keys) return text + ".PP\nThe keys are below, under KEYS.\n";
  if (!command.get_footer().empty()) text += ".PP\n" + roff_lines(command.get_footer());
  return text;
}

struct Variable {
  const char* name;
  const char* standard;
  const char* about;
};

constexpr Variable kEnvironment[] = {
    {"OMP_NUM_THREADS", "1", "threads of each rank"},
    {"RIESZ_TRANSPORT", "auto", "auto, shared or mpi: how messages travel"},
    {"RIESZ_HOSTS", "", "treats so many consecutive ranks as a host of their own"},
    {"RIESZ_DEADLINE", "600", "seconds after which a wait ends the job; 0: never"},
    {"RIESZ_NCCL_COMMUNICATORS", "64",
     "communicators of NCCL that a rank may have; rounds of further teams go through host memory"},
    {"RIESZ_NCCL_COLLECTIVES", "rounds",
     "rounds: sums between GPUs in rank order, as on the CPU; library: NCCL's own collectives"},
    {"RIESZ_UNTAKEN", "1073741824",
     "bytes that a rank may have sent and others not taken; beyond that a send waits; 0: no limit"},
    {"RIESZ_CHECK", "0", "1: compares what workers must have alike"},
    {"RIESZ_ALONE", "0", "1: each process is a job of its own, though srun has started several"},
    {"RIESZ_LANES", "the processor's", "plain, avx2 or avx512: the widest registers of kernels"},
    {"RIESZ_TERMINAL", "set by the launcher", "1: progress rewrites its line; 0: a log"},
    {"MALLOC_CONF", "set by Riesz", "jemalloc's own setting"},
    {"HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME", "Hugging Face's", "where models are looked for by name"}};

constexpr const char* kAbout =
    "Riesz trains and runs transformers on one process or many, which MPI joins. A layout says how they "
    "share "
    "the "
    "work: layout.dp workers share each batch, layout.tp each layer, layout.ep its experts, layout.space "
    "each image, layout.sp each "
    "sequence, and layout.pp are stages of the model. The losses are the same at every layout.\n.PP\n"
    "Results go to standard output; progress, notes and errors go to standard error.";

constexpr const char* kFiles =
    ".TP\n.I runs/NAME/\nwhat a training of NAME.toml writes: loss.csv, metrics.jsonl, TensorBoard's events, "
    "loss.svg, report.txt, config.toml, and checkpoints, each a model's folder as Hugging Face's.\n";

constexpr const char* kExamples =
    "riesz doctor\n"
    "riesz train my.toml layout=dp2.tp2 -n 4\n"
    "riesz train my.toml --resume\n"
    "riesz generate runs/my \"To be\" --max-tokens 50\n"
    "riesz evaluate runs/my text.txt --json\n"
    "riesz explain my.toml layout=tp8 --rank 7\n";

constexpr const char* kStatus =
    ".TP\n0\nAll went well.\n.TP\n2\nThe command line is wrong.\n.TP\n71\nAn error, which is printed.\n"
    ".TP\n130\nA job that riesz\\-mpirun started was ended by Ctrl\\-C.\n"
    ".TP\n143, 138\nIt was ended by SIGTERM or SIGUSR1 before it had saved and reported; after that the "
    "status is 0.\n";

}  // namespace

std::string man_page(const CLI::App& program, const CommandKeys& keys) {
  std::string text = ".TH RIESZ 1\n.SH NAME\nriesz \\- " + roff(program.get_description()) +
                     "\n.SH SYNOPSIS\n.B riesz\n.I COMMAND\n[argument ...] [option ...]\n.SH DESCRIPTION\n" +
                     kAbout + "\n.SH COMMANDS\n";
  for (const CLI::App* command : commands_of(program)) {
    const auto taken = keys.find(command->get_name());
    text += roff_command(*command, taken != keys.end() && taken->second.size() == schema().size());
  }
  text += ".SH KEYS\nSettings of a training, in its file or as words key=value.\n";
  for (const Key& key : schema()) {
    const std::string only = key.readers.empty() ? "" : "; only with " + readers_text(key);
    text += roff_entry(key.name, key.meaning + " (" + rule(key) + only + "); default " + value_text(key));
  }
  text += std::string(".SH EXIT STATUS\n") + kStatus + ".SH ENVIRONMENT\n";
  for (const Variable& variable : kEnvironment) {
    const std::string standard = variable.standard;
    text += roff_entry(variable.name, variable.about + (standard.empty() ? "" : "; default " + standard));
  }
  return text + ".SH FILES\n" + kFiles + ".SH EXAMPLES\n.nf\n" + roff(kExamples) + ".fi\n";
}

std::string environment_text() {
  std::vector<std::vector<std::string>> rows;
  for (const Variable& variable : kEnvironment)
    rows.push_back({variable.name, variable.standard, variable.about});
  return table_text(rows, "l");
}

std::string environment_markdown() {
  std::string text = "| variable | default | |\n|---|---|---|\n";
  for (const Variable& variable : kEnvironment)
    text += std::string("| `") + variable.name + "` | " + variable.standard + " | " + variable.about + " |\n";
  return text;
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
