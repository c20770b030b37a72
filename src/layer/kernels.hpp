// The inner loops of the soft top-k; see sharpen/layer/soft_topk.hpp.
#pragma once

#include "sharpen/base/view.hpp"

namespace sharpen::layer {

struct TailSums {
  double value;  // sum of sigmoid(a_i)
  double slope;  // sum of sigmoid'(a_i)
};

struct Kernels {
  // Sums of sigmoid(d_i + u) and of its derivative.
  TailSums (*tail_sums)(const double* d, Index n, double u);
  // p_i = sigmoid(a_i), v_i = beta sigmoid'(a_i) with a_i = beta (x_i - c) + u; returns sum p.
  double (*sigmoids)(const double* x, Index n, double beta, double c, double u, double* p,
                     double* v);
  // How many x_i are > threshold.
  Index (*count_above)(const double* x, Index n, double threshold);
};

extern const Kernels kPortableKernels, kV3Kernels;

const Kernels& kernels();

}  // namespace sharpen::layer
