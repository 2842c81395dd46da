// network.h: a network is a list of sub-layers, y = post(skip x + sum of branches), to read and to change.
#include <cstdio>

#include <rankfall/model.h>

int main() {
  rankfall::Network network = rankfall::open_model("bert-tiny@init", 0).network;
  std::printf("%s\n\n", rankfall::describe(network).c_str());
  for (rankfall::SubLayer& layer : network.layers) {
    layer.skip = 0.5;  // a network of one's own: every skip connection halved
    std::printf("block %ld: %s\n", static_cast<long>(layer.block), rankfall::formula(layer).c_str());
  }
}
