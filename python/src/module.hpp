// The parts of sharpen._core, one per source file. Every call into the library releases the GIL.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <map>
#include <string>
#include <vector>

#include "sharpen/base/settings.hpp"
#include "sharpen/base/view.hpp"

namespace sharpen::python {

namespace nb = nanobind;

void add_settings(nb::module_& module);
void add_solve(nb::module_& module);
void add_layer(nb::module_& module);
void add_panels(nb::module_& module);
void add_models(nb::module_& module);
void add_backtests(nb::module_& module);
void add_estimator(nb::module_& module);
void add_study(nb::module_& module);
void add_cluster(nb::module_& module);

// Float64, C order, on the CPU: the Python layer converts what is not, and says so in its own
// words; this is the last line of defence.
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline ConstMat view(const Matrix& matrix) {
  return {matrix.data(), static_cast<Index>(matrix.shape(0)), static_cast<Index>(matrix.shape(1))};
}
inline ConstVec view(const Vector& vector) { return {vector.data(), vector.shape(0)}; }

// A NumPy array that owns its memory.
template <class T>
nb::object array_of(std::vector<T> values, std::vector<std::size_t> shape) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(owned->data(), shape.size(), shape.data(), owner));
}
template <class T>
nb::object array_of(std::vector<T> values) {
  const std::size_t size = values.size();
  return array_of(std::move(values), {size});
}

// Settings as they are written on the command line, by their names there.
using SettingTexts = std::map<std::string, std::string>;

// The settings of a command: its defaults, then what is given. Throws InputError for a value that
// does not fit its setting, and for a name that is none of the command's.
settings::Values values_of(settings::Command command, const SettingTexts& given);
settings::Command command_of(const std::string& name);
// Those of a study: flags on top of a configuration file ("": none), as on the command line.
settings::Values study_values(const SettingTexts& given, const std::string& config);

// Messages with their references (base/error.hpp) in the words of Python: ‹--max-gap› is
// max_gap there.
std::string in_python_words(std::string_view message);
std::vector<std::string> in_python_words(std::vector<std::string> messages);

}  // namespace sharpen::python
