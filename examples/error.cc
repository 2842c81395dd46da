// error.h: one exception type, with a kind for programs and a text for people.
#include <cstdio>

#include <rankfall/error.h>
#include <rankfall/model.h>

int main() {
  try {
    rankfall::open_model("bert-bsae@init", 0);
  } catch (const rankfall::Error& error) {
    std::printf("%s\n", error.what());
    return error.kind() == rankfall::ErrorKind::kUsage ? 0 : 1;
  }
  return 1;
}
