// GgufFile on any bytes: it throws Error, or every tensor's bytes are whole blocks inside the file, and lists have as
// many elements as they say. A model of them has the rows that it promises, and a tokenizer cuts a text.
#include <cstdint>
#include <vector>

#include "fuzz_check.h"
#include "io/dtype.h"
#include "io/gguf.h"
#include "network/gguf_model.h"
#include "text/gguf_tokenizer.h"
#include <rankfall/error.h>

using namespace rankfall;

namespace {

void check_model(const std::shared_ptr<const GgufFile>& file) {
  try {
    const Model model = gguf_model(file);
    for (std::size_t t = 0; t < model.network.tensors.size(); ++t) {
      const TensorSpec& spec = model.network.tensors[t];
      const TensorData data = model.weights->rows(static_cast<int>(t), spec.matrix_rows() - 1, 1);
      FUZZ_CHECK(data.bytes.size() == static_cast<std::size_t>(spec.matrix_cols()) * dtype_size(data.dtype));
    }
  } catch (const Error& e) {
    FUZZ_CHECK(e.kind() == ErrorKind::kInput);
  }
}

void check_tokenizer(const GgufFile& file) {
  try {
    const TokenizerParts parts = gguf_tokenizer(file);
    Pieces out;
    encode_text(parts, "Two words, and\n 3\xc2\xbd <s>", out);
  } catch (const Error& e) {
    FUZZ_CHECK(e.kind() == ErrorKind::kInput);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  std::shared_ptr<const GgufFile> file;
  try {
    file = GgufFile::parse(bytes, "fuzz");
  } catch (const Error& e) {
    FUZZ_CHECK(e.kind() == ErrorKind::kInput);
    return 0;
  }
  for (const GgufTensor& tensor : file->tensors()) {
    FUZZ_CHECK(file->find(tensor.name) == &tensor);
    if (!is_readable(*tensor.type)) continue;
    FUZZ_CHECK(tensor.bytes.data() >= bytes.data() &&
               tensor.bytes.data() + tensor.bytes.size() <= bytes.data() + bytes.size());
    std::vector<float> row(static_cast<std::size_t>(tensor.n_cols()));
    dequantise(*tensor.type, tensor.bytes.last(tensor.row_bytes()), row);
  }
  for (const auto& [key, value] : file->values()) {
    if (const auto* list = std::get_if<GgufList>(&value)) {
      FUZZ_CHECK(list->texts().empty() || list->texts().size() == list->count);
      FUZZ_CHECK(list->integers().empty() || list->integers().size() == list->count);
      FUZZ_CHECK(list->numbers().empty() || list->numbers().size() == list->count);
    }
  }
  check_model(file);
  check_tokenizer(*file);
  return 0;
}
