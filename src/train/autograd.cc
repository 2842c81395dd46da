#include "train/autograd.h"

#include <cmath>

#include "base/errors.h"
#include "engine/dense/activation.h"
#include "engine/layer_weights.h"
#include "network/seen_keys.h"
#include "train/attention_kernel.h"

namespace rankfall {
namespace {

torch::Tensor activate(Activation act, const torch::Tensor& x) {
  switch (act) {
    case Activation::kIdentity:
      return x;
    case Activation::kRelu:
      return torch::relu(x);
    case Activation::kGelu:
      return torch::gelu(x);
    case Activation::kGeluTanh:
      return torch::gelu(x, "tanh");
    case Activation::kGeluBloom:
      return 0.5 * x * (1 + torch::tanh(kBloomRoot * (x + 0.044715 * x * x * x)));
    case Activation::kGeluFast:
      return 0.5 * x * (1 + torch::tanh(kFastRoot * (x + 0.044715 * x * x * x)));
    case Activation::kSilu:
      return torch::silu(x);
    case Activation::kTanh:
      return torch::tanh(x);
  }
  return x;
}

// True where query i must not see key j.
torch::Tensor forbidden(const Mask& mask, Index n) {
  torch::Tensor out = torch::zeros({n, n}, torch::kBool);
  auto entries = out.accessor<bool, 2>();
  const SeenKeys keys(mask, n);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) entries[i][j] = !keys.allows(i, j);
  }
  return out;
}

}  // namespace

Parameters::Parameters(const Network& network, const WeightSource& source) {
  std::int64_t size = 0;
  for (const TensorSpec& spec : network.tensors) size += spec.matrix_rows() * spec.matrix_cols();
  flat_ = torch::empty({size}, torch::kFloat32);
  gradient_ = torch::zeros({size}, torch::kFloat32);
  std::int64_t first = 0;
  for (std::size_t t = 0; t < network.tensors.size(); ++t) {
    const TensorSpec& spec = network.tensors[t];
    const TensorSlice whole{static_cast<int>(t), 0, 0, spec.matrix_rows(), spec.matrix_cols(), false};
    const LoadedSlice<float> loaded = load_slice<float>(whole, network.tensors, source);
    const std::int64_t count = whole.rows * whole.cols;
    torch::Tensor view = flat_.slice(0, first, first + count).view({whole.rows, whole.cols});
    for (Index r = 0; r < whole.rows; ++r) {
      std::copy_n(loaded.data + r * loaded.stride, whole.cols, view.data_ptr<float>() + r * whole.cols);
    }
    torch::Tensor leaf = view.detach();
    leaf.set_requires_grad(true);
    leaf.mutable_grad() = gradient_.slice(0, first, first + count).view({whole.rows, whole.cols});
    tensors_.push_back(std::move(leaf));
    first += count;
  }
}

torch::Tensor Parameters::matrix(const TensorSlice& slice) const {
  torch::Tensor whole = tensor(slice.tensor);
  if (slice.run > 0) throw usage_error("training knows no weights stored in runs");
  if (slice.rows != whole.size(0)) whole = whole.narrow(0, slice.row, slice.rows);
  if (slice.cols != whole.size(1)) whole = whole.narrow(1, slice.col, slice.cols);
  return whole;
}

torch::Tensor Parameters::vector(const TensorSlice& slice) const { return matrix(slice).flatten(); }

torch::Tensor Parameters::gradient_of(int index) const { return tensor(index).grad(); }

torch::Tensor Autograd::forward(const Network& network, const Batch& batch, std::vector<torch::Tensor>* states) {
  states_ = states;
  valid_ = batch.valid;
  torch::Tensor x = input(network, batch);
  hidden(0, x);
  Index block = 0;
  for (const SubLayer& layer : network.layers) {
    for (; block < layer.block; ++block) hidden(block + 1, x);
    enter(layer);
    x = step(*this, layer, std::move(x));
  }
  for (; block < network.sizes.n_blocks; ++block) hidden(block + 1, x);
  if (network.final_norm) x = norm(*network.final_norm, NormPlace::kFinal, std::move(x));
  return network.head ? linear(*network.head, drop(std::move(x))) : x;
}

torch::Tensor Autograd::input(const Network& network, const Batch& batch) {
  torch::Tensor x;
  if (const auto* tokens = std::get_if<TokenInput>(&network.input.source)) {
    x = torch::embedding(parameters_.matrix(tokens->words), batch.ids);
    if (tokens->projection) x = linear(*tokens->projection, x);
    if (tokens->positions) {
      x = x + parameters_.matrix(*tokens->positions).narrow(0, tokens->position_offset, batch.ids.size(1));
    }
  } else if (std::holds_alternative<FeatureInput>(network.input.source)) {
    x = batch.features;
  } else {
    throw usage_error("training takes tokens or features, not images");
  }
  for (const auto& stage : network.input.stages) {
    if (const auto* f = std::get_if<Linear>(&stage)) x = linear(*f, x);
    if (const auto* n = std::get_if<Norm>(&stage)) x = norm(*n, NormPlace::kPre, std::move(x));
    if (const auto* act = std::get_if<Activation>(&stage)) x = activate(*act, x);
    if (const auto* factor = std::get_if<Factor>(&stage)) x = x * factor->value;
  }
  return drop(std::move(x));
}

torch::Tensor Autograd::linear(const Linear& f, const torch::Tensor& x) const {
  torch::Tensor w = parameters_.matrix(f.w);
  if (f.w.transposed) w = w.t();
  return f.b ? torch::linear(x, w, parameters_.vector(*f.b)) : torch::linear(x, w);
}

torch::Tensor Autograd::drop(torch::Tensor x) {
  if (dropout_ == 0) return x;
  return x * kept_factors(x.sizes());
}

torch::Tensor Autograd::kept_factors(torch::IntArrayRef sizes) {
  const double kept = 1 - dropout_;
  return torch::empty(sizes).bernoulli_(kept, generator_).div_(kept);
}

torch::Tensor Autograd::norm(const Norm& norm, NormPlace /*place*/, torch::Tensor x) {
  const torch::Tensor gain = norm.gain ? parameters_.vector(*norm.gain) : torch::Tensor();
  const torch::Tensor bias = norm.bias ? parameters_.vector(*norm.bias) : torch::Tensor();
  if (norm.kind == Norm::Kind::kLayer) return torch::layer_norm(x, {x.size(-1)}, gain, bias, norm.eps);
  if (norm.kind == Norm::Kind::kRms) x = x * torch::rsqrt(x.square().mean(-1, true) + norm.eps);
  if (gain.defined()) x = x * gain;
  return bias.defined() ? x + bias : x;
}

torch::Tensor Autograd::apply(const Attention& a, const torch::Tensor& x) {
  if (!std::holds_alternative<NoPositions>(a.positions)) throw usage_error("training knows no positions in the logits");
  if (a.q_norm || a.k_norm || a.soft_cap > 0) throw usage_error("training knows no norms or caps of logits");
  if (!std::holds_alternative<SoftmaxWeights>(a.weights)) throw usage_error("training knows softmax attention only");
  const std::int64_t n_batch = x.size(0);
  const std::int64_t n = x.size(1);
  const torch::Tensor kept = dropout_ == 0 ? torch::Tensor() : kept_factors({n_batch, a.n_heads, n, n});
  if (a.mask.is_complete() && a.n_kv_heads == a.n_heads) {
    return drop(linear(a.o, attend(linear(a.q, x), linear(a.k, x), linear(a.v, x), a.n_heads, a.scale, valid_, kept)));
  }
  const auto heads = [&](const Linear& f, Index n_heads) {  // [batch, heads, tokens, d_head]
    const torch::Tensor all = linear(f, x).view({n_batch, n, n_heads, a.d_head}).transpose(1, 2);
    return n_heads == a.n_heads ? all : all.repeat_interleave(a.n_heads / n_heads, 1);
  };
  torch::Tensor logits = torch::matmul(heads(a.q, a.n_heads) * a.scale, heads(a.k, a.n_kv_heads).transpose(2, 3));
  logits = logits.masked_fill(forbidden(a.mask, n), -INFINITY);
  if (valid_.defined()) logits = logits.masked_fill(valid_.logical_not().unsqueeze(1).unsqueeze(1), -INFINITY);
  torch::Tensor p = torch::softmax(logits, -1);
  if (kept.defined()) p = p * kept;
  const torch::Tensor y = torch::matmul(p, heads(a.v, a.n_kv_heads)).transpose(1, 2);
  return drop(linear(a.o, y.reshape({n_batch, n, a.n_heads * a.d_head})));
}

torch::Tensor Autograd::apply(const Mlp& mlp, const torch::Tensor& x) {
  torch::Tensor inner = linear(mlp.up, x);
  inner = mlp.gate ? activate(mlp.act, linear(*mlp.gate, x)) * inner : activate(mlp.act, inner);
  return drop(linear(mlp.down, inner));
}

torch::Tensor Autograd::apply(const Elementwise& elementwise, const torch::Tensor& x) {
  return activate(elementwise.act, x);
}

torch::Tensor Autograd::sum(double fx, const torch::Tensor& x, double fy, const torch::Tensor& y) {
  return fx * x + fy * y;
}

torch::Tensor Autograd::combine(double skip, torch::Tensor x, double branch, torch::Tensor y) {
  if (branch != 1) y = y * branch;
  if (skip == 0) return y;
  return skip == 1 ? x + y : skip * x + y;
}

void Autograd::hidden(Index /*state*/, const torch::Tensor& x) {
  if (states_) states_->push_back(x);
}

torch::Tensor loss_of(const torch::Tensor& output, const Batch& batch) {
  if (batch.targets.defined()) return (output - batch.targets).square().sum() / batch.targets.size(0);
  return torch::nn::functional::cross_entropy(output.flatten(0, 1), batch.labels.flatten(),
                                              torch::nn::functional::CrossEntropyFuncOptions().ignore_index(-1));
}

Matrix<float> to_matrix(const torch::Tensor& x) {
  const torch::Tensor dense = x.detach().contiguous();
  return Eigen::Map<const Matrix<float>>(dense.data_ptr<float>(), dense.size(0), dense.size(1));
}

}  // namespace rankfall
