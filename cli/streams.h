#pragma once

#include <string_view>

// Standard input, output and error: the only place that writes to the last two. What came from outside (names of files
// and models, values of options, texts of files) reaches a terminal only through for_terminal().

namespace rankfall::cli {

// Descriptors 0, 1 and 2 that were closed are given to nothing, where reading and writing fail: otherwise the next file
// that is opened would have the number, and messages would be written into it. SIGPIPE is ignored: a reader that went
// away is an error like others.
void prepare_streams();

// All of `text` to standard output as it is. Throws Error kInput if that fails, also when the reader went away.
void write_stdout(std::string_view text);

// The same with text from outside in it, which a terminal gets spelled out.
void print_stdout(std::string_view text);

// To standard error, as far as it can be written: a message that nobody can read decides nothing. write_stderr() is for
// our own text with control sequences; say() ends the line.
void write_stderr(std::string_view text) noexcept;
void say(std::string_view text);

}  // namespace rankfall::cli
