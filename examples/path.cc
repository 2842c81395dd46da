// path.h: a path names the heads it goes through; around all others it takes the skip connection.
#include <cstdio>

#include <rankfall/path.h>

int main() {
  const rankfall::Heads heads = {{2, 5}, {7, 0}};
  const auto again = rankfall::heads_from("L2H5 > L7H0");
  std::printf("%s\n", rankfall::to_string(heads).c_str());
  return again && *again == heads ? 0 : 1;
}
