// model.h: open a model and read weights of it.
#include <cstdio>
#include <cstring>

#include <rankfall/model.h>

int main(int argc, char** argv) {
  // Also a directory with config.json and model.safetensors, or san:layers=12,heads=12,dim=768.
  const rankfall::Model model = rankfall::open_model(argc > 1 ? argv[1] : "bert-tiny@init", 0);
  const rankfall::TensorSpec& first = model.network.tensors[0];
  const rankfall::TensorData row = model.weights->rows(0, 0, 1);  // row 0 of tensor 0
  std::printf("%s: %zu tensors; the first is %s, %ld x %ld\n", model.name.c_str(), model.network.tensors.size(),
              first.name.c_str(), static_cast<long>(first.matrix_rows()), static_cast<long>(first.matrix_cols()));
  if (row.dtype == rankfall::DType::kF32) {
    float value = 0;
    std::memcpy(&value, row.bytes.data(), sizeof value);
    std::printf("its first entry: %g\n", static_cast<double>(value));
  }
}
