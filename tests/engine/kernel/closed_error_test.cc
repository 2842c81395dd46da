#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "engine/kernel/closed_attention.h"
#include "engine/kernel/sampled_attention.h"
#include <rankfall/model.h>

namespace rankfall {
namespace {

// How far off the closed form is beside many draws: it gives too much, by about what it says itself.
TEST(ClosedAttention, KnowsItsError) {
  struct Case {
    Index n;
    double x;  // the largest variance of a centred logit
  };
  for (const Case& c : {Case{8, 0.25}, Case{16, 0.25}, Case{16, 0.5}, Case{32, 0.5}}) {
    const auto count = static_cast<double>(c.n);
    Matrix<double> k = Matrix<double>::Constant(c.n, c.n, 0.5);
    k.diagonal().setOnes();
    const double a = std::sqrt(c.x / (0.5 * (1 - 1 / count)));
    Network network = open_model("san:layers=1,heads=8,dim=64", 0).network;
    for (TensorSpec& tensor : network.tensors) {
      if (tensor.init.kind == Init::Kind::kNormal) tensor.init.scale = std::sqrt(a / 64);
    }
    const Tokens tokens(c.n, {});
    const Gram gram = gram_of(k, tokens);
    const Attention& attention = *network.layers[0].attention();
    const auto trace = [](const Gram& of) { return std::exp(of.rest.log) * of.rest.value.trace(); };
    const double closed = trace(closed_mixing(network, attention, gram, tokens));
    Sample sample;
    sample.content = TokenIds(static_cast<std::size_t>(c.n), 0);
    const SampledAttention drawn{network, attention, 0, sample, tokens, 1, 6'000, 0};
    const double sampled = trace(drawn.mixing(gram)) / a;  // values have a variance of a, too
    const double error = closed / sampled - 1;
    const double estimate = closed_error(network, attention, gram, tokens).value_or(0);
    EXPECT_GT(error, 0.7 * estimate) << c.n << " " << c.x;
    EXPECT_LT(error, 1.3 * estimate) << c.n << " " << c.x;
    RecordProperty("error_" + std::to_string(c.n) + "_" + std::to_string(c.x), std::to_string(error));
  }
}

}  // namespace
}  // namespace rankfall
