#include "io/sha256.h"

#include <array>
#include <stdexcept>

#include <openssl/evp.h>

namespace rankfall {
namespace {

void check(int success) {
  if (success != 1) throw std::runtime_error("OpenSSL has no SHA-256");
}

}  // namespace

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  if (!context_) throw std::bad_alloc();
  check(EVP_DigestInit_ex(context_, EVP_sha256(), nullptr));
}

Sha256::~Sha256() { EVP_MD_CTX_free(context_); }

void Sha256::add(std::span<const std::byte> bytes) { check(EVP_DigestUpdate(context_, bytes.data(), bytes.size())); }

std::string Sha256::bytes() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  check(EVP_DigestFinal_ex(context_, digest.data(), &size));
  return {digest.begin(), digest.begin() + size};
}

std::string Sha256::hex() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes()) {
    const auto value = static_cast<unsigned char>(byte);
    text += kDigits[value >> 4];
    text += kDigits[value & 15];
  }
  return text;
}

std::string sha256_bytes(std::span<const std::byte> bytes) {
  Sha256 digest;
  digest.add(bytes);
  return digest.bytes();
}

std::string sha256(std::span<const std::byte> bytes) {
  Sha256 digest;
  digest.add(bytes);
  return digest.hex();
}

}  // namespace rankfall
