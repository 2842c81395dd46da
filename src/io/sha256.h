#pragma once

#include <cstddef>
#include <span>
#include <string>

struct evp_md_ctx_st;  // OpenSSL's

namespace rankfall {

// The 32 bytes of the digest.
std::string sha256_bytes(std::span<const std::byte> bytes);

// 64 hexadecimal digits.
std::string sha256(std::span<const std::byte> bytes);

// The same of bytes that are shown piece by piece.
class Sha256 {
 public:
  Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  ~Sha256();
  void add(std::span<const std::byte> bytes);
  std::string bytes();  // at the end, once
  std::string hex();    // the same, or this

 private:
  evp_md_ctx_st* context_;
};

}  // namespace rankfall
