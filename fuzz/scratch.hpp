// A file for readers that take no bytes, in memory if /dev/shm is there.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "check.hpp"

namespace sharpen {

struct Scratch {
  std::filesystem::path folder, file;

  Scratch() {
    const std::filesystem::path memory = "/dev/shm";
    std::error_code none;
    const bool there = std::filesystem::is_directory(memory, none);
    std::string name =
        (there ? memory : std::filesystem::temp_directory_path()) / "sharpen-fuzz-XXXXXX";
    SHARPEN_FUZZ_CHECK(::mkdtemp(name.data()) != nullptr);
    folder = name;
    file = folder / "file";
  }
  ~Scratch() { std::filesystem::remove_all(folder); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  void write(const std::string& bytes) const {
    std::ofstream(file, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
};

}  // namespace sharpen
