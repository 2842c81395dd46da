// network.h: a network is a list of sub-layers, y = post(skip x + branch f(pre(x))), to read and to change.
#include <cstdio>
#include <variant>

#include <rankfall/model.h>

int main() {
  rankfall::Network network = rankfall::open_model("bert-tiny@init", 0).network;
  for (rankfall::SubLayer& layer : network.layers) {
    layer.skip = 0.5;  // a network of one's own: every skip connection halved
    const bool is_attention = layer.attention() != nullptr;
    std::printf("block %ld: y = %s%.1f x + %s(%sx)%s\n", static_cast<long>(layer.block), layer.post ? "norm(" : "",
                layer.skip, is_attention ? "attention" : "mlp", layer.branches[0].in ? "norm " : "",
                layer.post ? ")" : "");
  }
}
