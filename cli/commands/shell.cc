#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include <unistd.h>

#include "cli/manual.h"
#include "cli/process.h"
#include "cli/streams.h"
#include "cli/terminal.h"
#include "cli/usage_errors.h"
#include <rankfall/error.h>

namespace rankfall::cli {
namespace {

// The program knows its own words (--complete); a script only carries them. Readline breaks words at : = and @ too and
// replaces only what follows the last break, so what stands before it is taken off again.
constexpr const char* kBash = R"(_rankfall() {
  local line=${COMP_LINE:0:COMP_POINT} current skip word
  local -a words
  read -a words <<< "$line" # takes escapes off
  [[ $line == *' ' && $line != *'\ ' ]] && words+=('')
  current=${words[${#words[@]} - 1]}
  COMPREPLY=()
  while IFS= read -r word; do
    if [[ $word == FILES ]]; then
      compopt -o filenames 2> /dev/null # quotes what needs it, and marks folders
      while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current")
    else
      COMPREPLY+=("$word")
    fi
  done < <("${words[0]}" --complete "${words[@]:1}" 2> /dev/null)
  skip=${COMP_WORDS[COMP_CWORD]//\\/}
  [[ $skip == [:=@] ]] && skip=
  skip=${current%"$skip"}
  COMPREPLY=("${COMPREPLY[@]#"$skip"}")
}
complete -F _rankfall rankfall
)";

constexpr const char* kZsh = R"(#compdef rankfall
_rankfall() {
  local -a found
  local word
  while IFS= read -r word; do
    if [[ $word == FILES ]]; then _files; else found+=("$word"); fi
  done < <("${words[1]}" --complete "${(@)words[2,CURRENT]}" 2> /dev/null)
  compadd -- $found
}
if [[ $funcstack[1] == _rankfall ]]; then _rankfall; else compdef _rankfall rankfall; fi
)";

constexpr const char* kFish = R"(function __rankfall_complete
  set -l words (commandline -opc) (commandline -ct)
  for word in ($words[1] --complete $words[2..-1] 2> /dev/null)
    if test "$word" = FILES
      __fish_complete_path (commandline -ct)
    else
      echo $word
    end
  end
end
complete -c rankfall -f -a '(__rankfall_complete)'
)";

// On a terminal the page is shown by `man`: its source is not for reading. Whatever becomes of man, for instance that
// its reader leaves early, is not an error of ours.
void show_man_page(const std::string& page) {
  std::FILE* man = std::system("command -v man > /dev/null 2>&1") == 0 ? popen("man -l -", "w") : nullptr;
  if (!man) {
    throw Error(ErrorKind::kUsage,
                "the program man, which shows the manual, is not installed; `rankfall help COMMAND` has the same text, "
                "and `rankfall manual > rankfall.1` writes the page to a file");
  }
  std::fwrite(page.data(), 1, page.size(), man);
  pclose(man);
}

}  // namespace

void bind_manual(CLI::App& sub) {
  sub.footer("Example:\n  rankfall manual > rankfall.1");
  sub.callback([&sub] {
    const std::string page = man_page(*sub.get_parent(), training_output("--man-sections"));
    if (is_terminal(STDOUT_FILENO)) {
      show_man_page(page);
    } else {
      write_stdout(page);
    }
  });
}

void bind_completion(CLI::App& sub) {
  auto shell = std::make_shared<std::string>();
  sub.add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(one_of({"bash", "zsh", "fish"}));
  sub.footer("Example:\n  rankfall completion bash > rankfall.bash && source rankfall.bash");
  sub.callback([shell] { write_stdout(*shell == "bash" ? kBash : *shell == "zsh" ? kZsh : kFish); });
}

}  // namespace rankfall::cli
