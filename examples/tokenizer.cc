// tokenizer.h: text to token ids as a model was trained with; here with a vocabulary of six words.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <rankfall/tokenizer.h>

int main(int argc, char** argv) {
  std::filesystem::path directory = argc > 1 ? argv[1] : "tokenizer_example";
  if (argc == 1) {
    std::filesystem::create_directory(directory);
    std::ofstream(directory / "config.json") << R"({"model_type": "bert"})";
    std::ofstream(directory / "vocab.txt") << "[PAD]\n[UNK]\n[CLS]\n[SEP]\nrank\n##fall\n";
  }
  const auto tokenizer = rankfall::Tokenizer::open(directory);
  std::printf("%s:", tokenizer->kind().c_str());
  for (const rankfall::Piece& piece : tokenizer->pieces("rankfall"))
    std::printf(" %s=%d", piece.text.c_str(), piece.id);
  std::printf("\n");
}
