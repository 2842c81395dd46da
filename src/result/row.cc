#include "result/row.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace rankfall {
namespace {

// One Field per type of Row's members: how it becomes a CellValue and back.
template <class T>
struct Field;

// Texts of either kind.
template <class T>
struct TextField {
  static constexpr std::string_view kExpected = "text";
  static bool set(T& field, const CellValue& value) {
    const auto* text = std::get_if<std::string>(&value);
    if (text) field = *text;
    return text != nullptr;
  }
};

template <>
struct Field<std::string> : TextField<std::string> {
  static CellValue get(const std::string& field) { return field.empty() ? CellValue() : CellValue(field); }
};
template <>
struct Field<Prose> : TextField<Prose> {
  static CellValue get(const Prose& field) {
    if (field.empty()) return {};
    std::string text;
    field.print(text);
    return text;
  }
};

template <>
struct Field<std::optional<Index>> {
  static constexpr std::string_view kExpected = "a whole number, 0 or more";
  static CellValue get(const std::optional<Index>& field) {
    return field ? CellValue(std::int64_t{*field}) : CellValue();
  }
  static bool set(std::optional<Index>& field, const CellValue& value) {
    if (const auto* i = std::get_if<std::int64_t>(&value); i && *i >= 0) return field = *i, true;
    const auto* u = std::get_if<std::uint64_t>(&value);
    if (!u || *u > static_cast<std::uint64_t>(std::numeric_limits<Index>::max())) return false;
    return field = static_cast<Index>(*u), true;
  }
};

template <>
struct Field<std::optional<std::uint64_t>> {
  static constexpr std::string_view kExpected = "a whole number, 0 or more";
  static CellValue get(const std::optional<std::uint64_t>& field) { return field ? CellValue(*field) : CellValue(); }
  static bool set(std::optional<std::uint64_t>& field, const CellValue& value) {
    if (const auto* u = std::get_if<std::uint64_t>(&value)) return field = *u, true;
    const auto* i = std::get_if<std::int64_t>(&value);
    if (!i || *i < 0) return false;
    return field = static_cast<std::uint64_t>(*i), true;
  }
};

template <>
struct Field<std::optional<double>> {
  static constexpr std::string_view kExpected = "a finite number";
  static CellValue get(const std::optional<double>& field) {
    return field && std::isfinite(*field) ? CellValue(*field) : CellValue();
  }
  static bool set(std::optional<double>& field, const CellValue& value) {
    if (const auto* i = std::get_if<std::int64_t>(&value)) return field = static_cast<double>(*i), true;
    if (const auto* u = std::get_if<std::uint64_t>(&value)) return field = static_cast<double>(*u), true;
    const auto* x = std::get_if<double>(&value);
    if (!x || !std::isfinite(*x)) return false;
    return field = *x, true;
  }
};

// What has a word of its own. Nothing to say is an absent value.
template <class T>
struct WordField {
  static CellValue get(T field) {
    const std::string_view text = word(field);
    return text.empty() ? CellValue() : CellValue(std::string(text));
  }
  static bool set(T& field, const CellValue& value) {
    const auto* text = std::get_if<std::string>(&value);
    const auto found = text ? from_word<T>(*text) : std::nullopt;
    if (found) field = *found;
    return found.has_value();
  }
};

template <>
struct Field<Status> : WordField<Status> {
  static constexpr std::string_view kExpected = "a status such as \"holds\" (docs/formats.md)";
};
template <>
struct Field<Reason> : WordField<Reason> {
  static constexpr std::string_view kExpected = "a reason such as \"skip\" (docs/formats.md)";
};
template <>
struct Field<Basis> : WordField<Basis> {
  static constexpr std::string_view kExpected = "\"weights\" or \"data\"";
};

// What to_string writes and `parse` reads.
template <class T, std::optional<T> (*parse)(std::string_view)>
struct ParsedField {
  static CellValue get(const std::optional<T>& field) { return field ? CellValue(to_string(*field)) : CellValue(); }
  static bool set(std::optional<T>& field, const CellValue& value) {
    const auto* text = std::get_if<std::string>(&value);
    auto parsed = text ? parse(*text) : std::nullopt;
    if (!parsed) return false;
    field = std::move(parsed);
    return true;
  }
};

template <>
struct Field<std::optional<Origin>> : ParsedField<Origin, origin_from> {
  static constexpr std::string_view kExpected = "an origin such as \"embedding\" or \"mlp.3\"";
};
template <>
struct Field<std::optional<Heads>> : ParsedField<Heads, heads_from> {
  static constexpr std::string_view kExpected = "a path such as \"L2H5 > L7H0\"";
};

template <auto member>
constexpr Column column(std::string_view name) {
  using F = Field<std::remove_cvref_t<decltype(std::declval<Row>().*member)>>;
  return {name, F::kExpected, [](const Row& row) { return F::get(row.*member); },
          [](Row& row, const CellValue& value) {
            if (!std::holds_alternative<std::monostate>(value)) return F::set(row.*member, value);
            row.*member = {};
            return true;
          }};
}

constexpr Column kColumns[] = {
    column<&Row::model>("model"),     column<&Row::variant>("variant"),
    column<&Row::layer>("layer"),     column<&Row::head>("head"),
    column<&Row::metric>("metric"),   column<&Row::mean>("mean"),
    column<&Row::std>("std"),         column<&Row::n>("n"),
    column<&Row::seed>("seed"),       column<&Row::sample>("sample"),
    column<&Row::length>("length"),   column<&Row::origin>("origin"),
    column<&Row::path>("path"),       column<&Row::step>("step"),
    column<&Row::kind>("kind"),       column<&Row::claim>("claim"),
    column<&Row::tokens>("tokens"),   column<&Row::k>("k"),
    column<&Row::basis>("basis"),     column<&Row::status>("status"),
    column<&Row::reason>("reason"),   column<&Row::text>("text"),
    column<&Row::verdict>("verdict"), column<&Row::exact>("exact"),
};

}  // namespace

std::span<const Column> columns() { return kColumns; }

const Column* find_column(std::string_view name) {
  const auto it = std::ranges::find(kColumns, name, &Column::name);
  return it == std::end(kColumns) ? nullptr : it;
}

}  // namespace rankfall
