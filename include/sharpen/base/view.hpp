// Non-owning views of doubles: vectors (n) and row-major matrices (rows, cols).
#pragma once

#include <cstddef>
#include <span>

namespace sharpen {

using Index = std::ptrdiff_t;
using Vec = std::span<double>;
using ConstVec = std::span<const double>;

// An index as the containers of the standard library want it.
constexpr std::size_t at(Index i) { return static_cast<std::size_t>(i); }

// Row-major matrix view: entry (i, j) is data[i * stride + j], stride >= cols.
template <class T>
struct BasicMat {
  T* data = nullptr;
  Index rows = 0;
  Index cols = 0;
  Index stride = 0;

  BasicMat() = default;
  BasicMat(T* data_, Index rows_, Index cols_) : BasicMat(data_, rows_, cols_, cols_) {}
  BasicMat(T* data_, Index rows_, Index cols_, Index stride_)
      : data(data_), rows(rows_), cols(cols_), stride(stride_) {}

  // A writable view may be read.
  operator BasicMat<const T>() const { return {data, rows, cols, stride}; }

  T& operator()(Index i, Index j) const { return data[i * stride + j]; }
  std::span<T> row(Index i) const { return {data + i * stride, static_cast<std::size_t>(cols)}; }
  BasicMat middle_rows(Index first, Index count) const {
    return {data + first * stride, count, cols, stride};
  }
};

using Mat = BasicMat<double>;
using ConstMat = BasicMat<const double>;

}  // namespace sharpen
