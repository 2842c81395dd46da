#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <rankfall/error.h>
#include <rankfall/index.h>

namespace rankfall {

// A model's config.json, or a `san:` specification in the same form, with checked access. `null` counts as absent.
// Errors name the place, the key, what was found and what was expected. Parts of it share its memory.
class Config {
 public:
  Config(nlohmann::json values, std::string where, ErrorKind kind);

  bool has(std::string_view key) const;
  // Whether the key stands there, be it as null: some defaults count only where it does not.
  bool mentions(std::string_view key) const;
  // Required when there is no fallback; always within [low, high].
  Index integer(std::string_view key, Index low, Index high) const;
  Index integer(std::string_view key, Index low, Index high, Index fallback) const;
  // A number, or a list of two equal ones: the side of a square.
  Index side(std::string_view key, Index low, Index high, Index fallback) const;
  double number(std::string_view key, double low, double high, double fallback) const;
  bool flag(std::string_view key, bool fallback) const;
  std::string text(std::string_view key) const;
  std::string text(std::string_view key, std::string_view fallback) const;
  // A text, or the `content` of an object: tokenizer files have both.
  std::string plain_text(std::string_view key, std::string_view fallback) const;
  std::vector<std::string> keys() const;
  bool is_object(std::string_view key) const;
  // A list of three numbers.
  std::array<double, 3> triple(std::string_view key, const std::array<double, 3>& fallback) const;
  // A list of exactly `count` numbers within [low, high], required.
  std::vector<double> numbers(std::string_view key, std::size_t count, double low, double high) const;
  // A list of exactly `count` texts; empty when absent.
  std::vector<std::string> texts(std::string_view key, std::size_t count) const;
  // The object under `key`; null when absent. Its errors name the key.
  std::optional<Config> object(std::string_view key) const;
  // The same, required.
  Config child(std::string_view key) const;
  // The objects of the list under `key`, at most so many.
  std::vector<Config> list(std::string_view key, std::size_t most) const;
  // Any value, required: for what has no form of its own here.
  const nlohmann::json& at(std::string_view key) const;

  [[noreturn]] void fail(const std::string& problem) const;
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    fail(fmt::format(format, std::forward<Args>(args)...));
  }
  const std::string& where() const { return where_; }

 private:
  Config(std::shared_ptr<const nlohmann::json> values, std::string where, ErrorKind kind);
  // A part of this one.
  Config part(const nlohmann::json& values, const std::string& name) const;
  const nlohmann::json* find(std::string_view key) const;

  std::shared_ptr<const nlohmann::json> values_;
  std::string where_;
  ErrorKind kind_;
};

// Limits on what a description may ask for; beyond them it is a mistake or an attack.
inline constexpr Index kMaxLayers = 10'000;
inline constexpr Index kMaxHeads = 4'096;
inline constexpr Index kMaxWidth = 1 << 18;
inline constexpr Index kMaxVocab = 1 << 24;
inline constexpr Index kMaxPositions = 1 << 24;

}  // namespace rankfall
