// sharpen._core.Model: a trained model in memory.
#pragma once

#include "module.hpp"
#include "sharpen/learn/model.hpp"

namespace sharpen::python {

struct MemoryModel {
  learn::Model model;
};

}  // namespace sharpen::python
