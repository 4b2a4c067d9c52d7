// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Arrays in files of HDF5, which HDF5's own library writes here.
#include <ATen/ops/arange.h>
#include <gtest/gtest.h>
#include <hdf5.h>

#include "../temporary_folder.h"
#include "bytes_read.h"
#include "riesz/comm/error.h"
#include "riesz/io/arrays/stored_array.h"
#include "riesz/partition/vector.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

/// A file with arrays of 4 x 6 x 8: floats as they lie, integers with their greatest byte first and in packed
/// chunks, and names.
class Hdf5 : public ::testing::Test {
 protected:
  Hdf5() {
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(3, extents, nullptr);
    const hid_t chunks = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t chunk[3] = {1, 3, 8};
    H5Pset_chunk(chunks, 3, chunk);
    H5Pset_deflate(chunks, 4);
    const at::Tensor shorts = all.to(at::kShort);
    write(file, "floats", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, space, H5P_DEFAULT, all.const_data_ptr());
    write(file, "shorts", H5T_STD_I16BE, H5T_NATIVE_SHORT, space, chunks, shorts.const_data_ptr());
    const hid_t name = H5Tcopy(H5T_C_S1);
    H5Tset_size(name, 8);
    H5Dclose(H5Dcreate2(file, "names", name, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Tclose(name), H5Pclose(chunks), H5Sclose(space), H5Fclose(file);
  }

  static void write(hid_t file, const char* name, hid_t stored, hid_t given, hid_t space, hid_t how,
                    const void* numbers) {
    const hid_t data = H5Dcreate2(file, name, stored, space, H5P_DEFAULT, how, H5P_DEFAULT);
    H5Dwrite(data, given, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers);
    H5Dclose(data);
  }

  const hsize_t extents[3] = {4, 6, 8};
  const at::Tensor all = at::arange(4 * 6 * 8, at::kFloat).view({4, 6, 8});
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "some.h5").string();
};

TEST_F(Hdf5, BoxesAreThoseOfTheArray) {
  const Box box{{1, 3}, {2, 6}, {3, 5}};
  const StoredArray floats(path + ":floats"), shorts(path + ":/shorts");
  EXPECT_EQ(floats.type(), at::kFloat);
  EXPECT_EQ(shorts.type(), at::kShort);
  EXPECT_EQ(shorts.shape(), (std::vector<std::int64_t>{4, 6, 8}));
  EXPECT_TRUE(floats.read(box).equal(narrow(all, box)));
  EXPECT_TRUE(shorts.read(box).equal(narrow(all, box).to(at::kShort)));
  EXPECT_NE(floats.digest(), shorts.digest());
}

TEST_F(Hdf5, OfAnArrayAsItLiesNoMoreBytesAreRead) {
  const StoredArray floats(path + ":floats");
  for (const Box& box : {Box{{1, 3}, {2, 6}, {3, 5}}, Box{{0, 4}, {0, 3}, {0, 8}}})
    EXPECT_EQ(bytes_read([&] { floats.read(box); }), 4 * volume(box));
}

TEST_F(Hdf5, OtherThingsAreRefused) {
  EXPECT_ERROR(StoredArray(path + ":velocity"), "cannot read \"velocity\" of", "there is no such dataset");
  EXPECT_ERROR(StoredArray(path + ":names"), "no floats of up to 8 bytes and no integers");
  EXPECT_ERROR(StoredArray("/no/such.h5:a"), "cannot read \"/no/such.h5\"");
  EXPECT_ERROR(StoredArray(folder.write("text.h5", "text").string() + ":a"), "it is no file of HDF5");
}

}  // namespace
}  // namespace riesz::testing
