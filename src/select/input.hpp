// What Selector and LimitedSelector ask of what they are given.
#pragma once

#include "sharpen/select/select.hpp"

namespace sharpen::select {

// Throws InputError for wrong shapes, a sample out of range, and a risk model of another size than
// n or without the parts that the optimizer's score needs.
void check_input(Optimizer optimizer, Index n, const risk::Risk& risk, Index sample, ConstVec mu);

}  // namespace sharpen::select
