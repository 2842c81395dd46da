#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <rankfall/model.h>
#include <rankfall/result.h>

// The runs that the claims about networks are made of.

namespace rankfall {

// `collapse` of one variant on two samples of random tokens.
Result tracked(const std::string& spec, const std::string& variant, std::uint64_t seed, Index n_tokens);
Result tracked(const Model& model, const std::string& variant, std::uint64_t seed, Index n_tokens);

// The first row with this metric, layer and kind; null if there is none.
const Row* find_row(const Result& result, std::string_view metric, std::optional<Index> layer, std::string_view kind);
// Its mean, otherwise NaN.
double value_of(const Result& result, std::string_view metric, std::optional<Index> layer,
                std::string_view kind = "exact");

// log10 of the relative residual of state `to` over that of state `from`, composite norm.
double log10_change(const Result& result, Index from, Index to);

// A small network of a family at random initialisation: width 32, 4 heads; the weights' deviation is such that a linear
// map changes lengths as it does in BERT-base. bert, gpt2, llama, t5, xlnet.
Model small_model(std::string_view family, Index n_layers, std::uint64_t seed);

}  // namespace rankfall
