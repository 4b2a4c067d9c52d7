// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/arrays/hdf5_array.h"

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"

#ifdef RIESZ_HDF5_LIBRARY
#include <dlfcn.h>
#include <hdf5.h>

#include <mutex>
#include <utility>

namespace riesz {
namespace {

// The functions that are called of the library.
#define RIESZ_HDF5_FUNCTIONS(f)                                                                           \
  f(H5open) f(H5Eset_auto2) f(H5Fopen) f(H5Fclose) f(H5Dopen2) f(H5Dclose) f(H5Dget_space) f(H5Dget_type) \
      f(H5Dread) f(H5Sget_simple_extent_ndims) f(H5Sget_simple_extent_dims) f(H5Screate_simple)           \
          f(H5Sselect_hyperslab) f(H5Sclose) f(H5Tget_class) f(H5Tget_size) f(H5Tget_sign) f(H5Tclose)    \
              f(H5Pcreate) f(H5Pset_sieve_buf_size) f(H5Pclose)

/// HDF5's library. It is loaded when the first file is opened, since it brings some thirty others along.
struct Hdf5 {
  void* library;
#define RIESZ_DECLARED(name) decltype(&::name) name;
  RIESZ_HDF5_FUNCTIONS(RIESZ_DECLARED)
#undef RIESZ_DECLARED
  /// A program that links the library has a copy of such a variable, and the library uses that one.
  hid_t id(const char* name) const {
    const void* const of_program = dlsym(RTLD_DEFAULT, name);
    return *static_cast<const hid_t*>(of_program == nullptr ? symbol(library, name) : of_program);
  }

  static void* symbol(void* library, const char* name) {
    void* const found = dlsym(library, name);
    RIESZ_CHECK(found != nullptr, RIESZ_HDF5_LIBRARY, " has no ", name,
                "; install the version that Riesz was built with");
    return found;
  }
};

Hdf5 loaded() {
  void* const library = dlopen(RIESZ_HDF5_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  RIESZ_CHECK(library != nullptr, "HDF5's library cannot be loaded: ", dlerror(),
              "; install it, or write the array as .npy");
#define RIESZ_FOUND(name) reinterpret_cast<decltype(&::name)>(Hdf5::symbol(library, #name)),
  const Hdf5 calls{library, RIESZ_HDF5_FUNCTIONS(RIESZ_FOUND)};
#undef RIESZ_FOUND
  calls.H5open();
  calls.H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // this file says what failed
  return calls;
}

const Hdf5& hdf5() {
  static const Hdf5 calls = loaded();
  return calls;
}

/// The library is not made for several threads.
std::mutex& one_at_a_time() {
  static std::mutex mutex;
  return mutex;
}

/// An open object of the library.
class Opened {
 public:
  Opened(hid_t id, herr_t (*close)(hid_t), const std::string& failure) : id_(id), close_(close) {
    RIESZ_CHECK(id >= 0, failure);
  }
  ~Opened() { close_(id_); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

/// An open array of the file, of which boxes are read.
class Hdf5Array final : public ArraySource {
 public:
  Hdf5Array(const std::string& file, const std::string& dataset)
      : what_(concat("cannot read ", in_quotes(dataset), " of ", in_quotes(file), ": ")),
        lock_(one_at_a_time()),
        access_(h5_.H5Pcreate(h5_.id("H5P_CLS_FILE_ACCESS_ID_g")), h5_.H5Pclose,
                what_ + "HDF5's library has no memory left"),
        file_(opened(file), h5_.H5Fclose, what_ + "it is no file of HDF5, or another program writes it"),
        data_(h5_.H5Dopen2(file_, dataset.c_str(), 0), h5_.H5Dclose, what_ + "there is no such dataset") {
    const Opened space(h5_.H5Dget_space(data_), h5_.H5Sclose, what_ + "it has no shape");
    const int dims = h5_.H5Sget_simple_extent_ndims(space);
    RIESZ_CHECK(dims >= 0, what_, "it has no shape");
    std::vector<hsize_t> extents(static_cast<std::size_t>(dims));
    h5_.H5Sget_simple_extent_dims(space, extents.data(), nullptr);
    shape.assign(extents.begin(), extents.end());
    const Opened of(h5_.H5Dget_type(data_), h5_.H5Tclose, what_ + "it has no type");
    find_type(of);
    lock_.unlock();
  }
  ~Hdf5Array() override { lock_.lock(); }

  void read(const Box& box, void* to) const override {
    const std::lock_guard<std::mutex> lock(one_at_a_time());
    std::vector<hsize_t> begin, extents;
    for (const Interval& of : box) {
      begin.push_back(static_cast<hsize_t>(of.begin));
      extents.push_back(static_cast<hsize_t>(of.size()));
    }
    const Opened all(h5_.H5Dget_space(data_), h5_.H5Sclose, what_ + "it has no shape");
    const Opened some(h5_.H5Screate_simple(static_cast<int>(box.size()), extents.data(), nullptr),
                      h5_.H5Sclose, what_ + "there is no such box");
    const bool read =
        h5_.H5Sselect_hyperslab(all, H5S_SELECT_SET, begin.data(), nullptr, extents.data(), nullptr) >= 0 &&
        h5_.H5Dread(data_, memory_, some, all, 0, to) >= 0;
    RIESZ_CHECK(read, what_, "HDF5's library fails at ", volume(box),
                " elements; the file is damaged, or has a filter that the library lacks");
  }

 private:
  /// Without a buffer of its own, which would read more than a box has.
  hid_t opened(const std::string& file) const {
    File::to_read(file);  // says why there is none
    h5_.H5Pset_sieve_buf_size(access_, 0);
    return h5_.H5Fopen(file.c_str(), 0, access_);
  }

  void find_type(hid_t of) {
    const std::size_t bytes = h5_.H5Tget_size(of);
    const H5T_class_t kind = h5_.H5Tget_class(of);
    const bool is_signed = h5_.H5Tget_sign(of) == H5T_SGN_2;
    const auto take = [&](at::ScalarType element, const char* name) {
      type = element, memory_ = h5_.id(name);
    };
    if (kind == H5T_FLOAT && bytes <= 4) return take(at::kFloat, "H5T_NATIVE_FLOAT_g");
    if (kind == H5T_FLOAT && bytes == 8) return take(at::kDouble, "H5T_NATIVE_DOUBLE_g");
    if (kind == H5T_INTEGER && bytes == 1 && !is_signed) return take(at::kByte, "H5T_NATIVE_UCHAR_g");
    if (kind == H5T_INTEGER && bytes == 1) return take(at::kChar, "H5T_NATIVE_SCHAR_g");
    if (kind == H5T_INTEGER && bytes == 2 && is_signed) return take(at::kShort, "H5T_NATIVE_SHORT_g");
    if (kind == H5T_INTEGER && bytes < 4) return take(at::kInt, "H5T_NATIVE_INT_g");
    if (kind == H5T_INTEGER && bytes == 4 && is_signed) return take(at::kInt, "H5T_NATIVE_INT_g");
    if (kind == H5T_INTEGER && (is_signed || bytes == 4)) return take(at::kLong, "H5T_NATIVE_LLONG_g");
    throw_error(concat(what_,
                       "its elements are no floats of up to 8 bytes and no integers; write it anew as "
                       "such, truths as bytes"));
  }

  const Hdf5& h5_ = hdf5();
  std::string what_;
  std::unique_lock<std::mutex> lock_;  // while it is opened, and while it is closed
  Opened access_, file_, data_;
  hid_t memory_ = -1;  // the type of elements in memory
};

}  // namespace

std::unique_ptr<ArraySource> open_hdf5(const std::string& file, const std::string& dataset) {
  return std::make_unique<Hdf5Array>(file, dataset);
}

}  // namespace riesz

#else

namespace riesz {

std::unique_ptr<ArraySource> open_hdf5(const std::string& file, const std::string& dataset) {
  throw_error(
      concat("cannot read ", in_quotes(dataset), " of ", in_quotes(file),
             ": this Riesz was built without HDF5; install libhdf5-dev and build it again, or write the "
             "array as .npy"));
}

}  // namespace riesz

#endif
