#include "train/attention_kernel.h"

#include <limits>

#include "linalg/gemm.h"

namespace rankfall {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

using HeadTensors = Eigen::Map<Matrix<float>, 0, Eigen::OuterStride<>>;
using ConstHeads = Eigen::Map<const Matrix<float>, 0, Eigen::OuterStride<>>;

struct Shape {
  explicit Shape(const torch::Tensor& q, Index heads)
      : n_batch(q.size(0)), n(q.size(1)), width(q.size(2)), n_heads(heads), d_head(width / heads) {}

  // Columns of one head in one sequence.
  ConstHeads head(const torch::Tensor& x, Index b, Index h) const {
    return {x.data_ptr<float>() + b * n * width + h * d_head, n, d_head, Eigen::OuterStride<>(width)};
  }
  HeadTensors head(torch::Tensor& x, Index b, Index h) const {
    return {x.data_ptr<float>() + b * n * width + h * d_head, n, d_head, Eigen::OuterStride<>(width)};
  }
  // Of [batch, heads, tokens, tokens].
  Eigen::Map<Matrix<float>> square(const torch::Tensor& p, Index b, Index h) const {
    return {p.data_ptr<float>() + (b * n_heads + h) * n * n, n, n};
  }

  Index n_batch, n, width, n_heads, d_head;
};

// Products of few tokens are made in place, larger ones by BLAS.
constexpr Index kSmall = 32;

void product(bool transpose_a, bool transpose_b, double alpha, const auto& a, const auto& b, auto&& c) {
  const auto factor = static_cast<float>(alpha);
  if (c.rows() > kSmall || c.cols() > kSmall) {
    gemm<float>(transpose_a, transpose_b, factor, a, b, 0.0F, c);
  } else if (transpose_a) {
    c.noalias() = factor * a.transpose().lazyProduct(b);
  } else if (transpose_b) {
    c.noalias() = factor * a.lazyProduct(b.transpose());
  } else {
    c.noalias() = factor * a.lazyProduct(b);
  }
}

class Attend : public torch::autograd::Function<Attend> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& q, const torch::Tensor& k,
                               const torch::Tensor& v, std::int64_t n_heads, double scale, const torch::Tensor& valid,
                               const torch::Tensor& kept) {
    const Shape shape(q, n_heads);
    torch::Tensor p = torch::empty({shape.n_batch, n_heads, shape.n, shape.n});
    torch::Tensor out = torch::empty_like(q);
    Matrix<float> dropped(shape.n, shape.n);
    for (Index b = 0; b < shape.n_batch; ++b) {
      const bool* is_valid = valid.numel() > 0 ? valid.data_ptr<bool>() + b * shape.n : nullptr;
      for (Index h = 0; h < n_heads; ++h) {
        auto probabilities = shape.square(p, b, h);
        product(false, true, scale, shape.head(q, b, h), shape.head(k, b, h), probabilities);
        if (is_valid) {
          for (Index j = 0; j < shape.n; ++j) {
            if (!is_valid[j]) probabilities.col(j).setConstant(-std::numeric_limits<float>::infinity());
          }
        }
        for (Index i = 0; i < shape.n; ++i) {
          auto row = probabilities.row(i).array();
          row = (row - row.maxCoeff()).exp();
          row /= row.sum();
        }
        if (kept.numel() > 0) {
          dropped = probabilities.cwiseProduct(shape.square(kept, b, h));
          product(false, false, 1, dropped, shape.head(v, b, h), shape.head(out, b, h));
        } else {
          product(false, false, 1, probabilities, shape.head(v, b, h), shape.head(out, b, h));
        }
      }
    }
    context->save_for_backward({q, k, v, p, kept});
    context->saved_data["heads"] = n_heads;
    context->saved_data["scale"] = scale;
    return out;
  }

  static tensor_list backward(AutogradContext* context, const tensor_list& gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor& q = saved[0];
    const torch::Tensor& k = saved[1];
    const torch::Tensor& v = saved[2];
    const torch::Tensor& p = saved[3];
    const torch::Tensor& kept = saved[4];
    const double scale = context->saved_data["scale"].toDouble();
    const Shape shape(q, context->saved_data["heads"].toInt());
    const torch::Tensor from = gradients[0].contiguous();
    torch::Tensor dq = torch::empty_like(q);
    torch::Tensor dk = torch::empty_like(k);
    torch::Tensor dv = torch::empty_like(v);
    Matrix<float> dropped(shape.n, shape.n);
    Matrix<float> ds(shape.n, shape.n);
    for (Index b = 0; b < shape.n_batch; ++b) {
      for (Index h = 0; h < shape.n_heads; ++h) {
        const auto probabilities = shape.square(p, b, h);
        const auto d_out = shape.head(from, b, h);
        product(false, true, 1, d_out, shape.head(v, b, h), ds);
        if (kept.numel() > 0) {
          const auto factors = shape.square(kept, b, h);
          dropped = probabilities.cwiseProduct(factors);
          product(true, false, 1, dropped, d_out, shape.head(dv, b, h));
          ds = ds.cwiseProduct(factors);
        } else {
          product(true, false, 1, probabilities, d_out, shape.head(dv, b, h));
        }
        for (Index i = 0; i < shape.n; ++i) {
          const float mean = ds.row(i).dot(probabilities.row(i));
          ds.row(i) = probabilities.row(i).array() * (ds.row(i).array() - mean);
        }
        product(false, false, scale, ds, shape.head(k, b, h), shape.head(dq, b, h));
        product(true, false, scale, ds, shape.head(q, b, h), shape.head(dk, b, h));
      }
    }
    const torch::Tensor none;
    return {dq, dk, dv, none, none, none, none};
  }
};

}  // namespace

torch::Tensor attend(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v, Index n_heads,
                     double scale, const torch::Tensor& valid, const torch::Tensor& kept) {
  // A function's arguments must be defined: an empty tensor stands for none.
  const auto or_empty = [](const torch::Tensor& x) { return x.defined() ? x.contiguous() : torch::empty({0}); };
  return Attend::apply(q.contiguous(), k.contiguous(), v.contiguous(), n_heads, scale, or_empty(valid), or_empty(kept));
}

}  // namespace rankfall
