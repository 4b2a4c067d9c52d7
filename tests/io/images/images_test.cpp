// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/TensorOperators.h>
#include <ATen/ops/_upsample_bilinear2d_aa.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <turbojpeg.h>
#include <zlib.h>

#include "../temporary_folder.h"
#include "idx_bytes.h"
#include "png_bytes.h"
#include "riesz/io/images/image_set.h"
#include "riesz/io/images/read_idx.h"
#include "riesz/io/images/read_image.h"
#include "riesz/testing/error.h"

namespace riesz {
namespace {

using ::testing::ElementsAre;
using testing::idx_bytes;
using testing::png_bytes;
using testing::TemporaryFolder;

/// (3, height, width), each channel and direction another slope.
at::Tensor slopes(std::int64_t height, std::int64_t width) {
  const at::Tensor y = at::arange(height, at::kLong).view({-1, 1}), x = at::arange(width, at::kLong);
  return at::stack({9 * y + 2 * x, 200 - 3 * y - 4 * x, 3 * x + 0 * y + 40}).to(at::kByte);
}

/// (height, width, channels) as a file's library takes it.
at::Tensor interleaved(const at::Tensor& image) { return image.permute({1, 2, 0}).contiguous(); }

std::string jpeg_of(const at::Tensor& image) {
  const at::Tensor pixels = interleaved(image);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  const tjhandle handle = tjInitCompress();
  const int formats[] = {TJPF_GRAY, TJPF_UNKNOWN, TJPF_RGB, TJPF_CMYK};
  tjCompress2(handle, pixels.const_data_ptr<std::uint8_t>(), static_cast<int>(image.size(2)), 0,
              static_cast<int>(image.size(1)), formats[image.size(0) - 1], &bytes, &size,
              image.size(0) == 1 ? TJSAMP_GRAY : TJSAMP_444, 100, 0);
  std::string file(reinterpret_cast<const char*>(bytes), size);
  tjFree(bytes);
  tjDestroy(handle);
  return file;
}

at::Tensor read(const TemporaryFolder& folder, const std::string& bytes) {
  return read_image(folder.write("image", bytes));
}

TEST(ReadImage, GivesAPngsPixels) {
  const TemporaryFolder folder;
  const at::Tensor image = slopes(5, 7), grey = image.narrow(0, 0, 1);

  EXPECT_TRUE(read(folder, png_bytes(image, PNG_FORMAT_RGB)).equal(image));
  EXPECT_TRUE(read(folder, png_bytes(grey, PNG_FORMAT_GRAY)).equal(grey.expand({3, 5, 7})));
  const at::Tensor clear = at::cat({image, at::full({1, 5, 7}, 0, at::kByte)});
  EXPECT_TRUE(read(folder, png_bytes(clear, PNG_FORMAT_RGBA)).equal(image * 0));
}

TEST(ReadImage, GivesAJpegsPixels) {
  const TemporaryFolder folder;
  const at::Tensor image = slopes(11, 18), grey = image.narrow(0, 1, 1);
  const auto far = [](const at::Tensor& a, const at::Tensor& b) {
    return (a.to(at::kInt) - b.to(at::kInt)).abs().max().item<std::int64_t>();
  };

  EXPECT_LE(far(read(folder, jpeg_of(image)), image), 3);
  EXPECT_LE(far(read(folder, jpeg_of(grey)), grey.expand({3, 11, 18})), 2);
}

/// As for print: each ink as what it leaves of the light.
TEST(ReadImage, GivesTheColoursOfAJpegOfInks) {
  const TemporaryFolder folder;
  const at::Tensor inks = at::cat({slopes(16, 16), at::full({1, 16, 16}, 153, at::kByte)});
  const at::Tensor light = slopes(16, 16).to(at::kFloat) * 0.6;
  const at::Tensor far = (read(folder, jpeg_of(inks)).to(at::kFloat) - light).abs();
  EXPECT_LE(far.max().item<double>(), 4);
}

/// A chunk of a PNG, with its check sum.
std::string chunk(const std::string& kind, const std::string& data) {
  const auto number = [](std::uint32_t n) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(n >> shift & 0xff);
    return bytes;
  };
  const std::string all = kind + data;
  const auto sum = ::crc32(0, reinterpret_cast<const Bytef*>(all.data()), static_cast<uInt>(all.size()));
  return number(static_cast<std::uint32_t>(data.size())) + all + number(static_cast<std::uint32_t>(sum));
}

/// What is odd beside the pixels leaves them as they are.
TEST(ReadImage, TakesOddPicturesThatAreWhole) {
  const TemporaryFolder folder;
  const at::Tensor image = slopes(40, 40);
  const std::string png = png_bytes(image, PNG_FORMAT_RGB), jpeg = jpeg_of(image);
  constexpr std::size_t kHead = 8 + 25;  // the signature and IHDR
  const std::string zeros(32, '\0');
  for (const std::string& odd : {chunk("gAMA", zeros.substr(0, 4)), chunk("iCCP", "name\0\0no profile"),
                                 chunk("cHRM", zeros), chunk("sBIT", "\x09"), chunk("tIME", "\x01")}) {
    const at::Tensor found = read(folder, png.substr(0, kHead) + odd + png.substr(kHead));
    EXPECT_LE((found.to(at::kInt) - image.to(at::kInt)).abs().max().item<int>(), 1) << odd.substr(4, 4);
  }
  const at::Tensor pixels = read(folder, jpeg);
  const std::size_t table = jpeg.find("\xff\xdb");
  ASSERT_NE(table, std::string::npos);
  const std::string stray = jpeg.substr(0, table) + "abc" + jpeg.substr(table);
  EXPECT_TRUE(read(folder, stray).equal(pixels));
  EXPECT_TRUE(read(folder, jpeg.substr(0, jpeg.size() - 2) + "abc\xff\xd9").equal(pixels));
  EXPECT_ERROR(read(folder, stray.substr(0, stray.size() / 2)), "cannot read the image");
}

TEST(ReadImage, NamesTheFileThatIsNoWholePicture) {
  const TemporaryFolder folder;
  std::string png = png_bytes(slopes(40, 40), PNG_FORMAT_RGB), jpeg = jpeg_of(slopes(40, 40));
  const std::string where = (folder.path() / "image").string();
  const auto refused = [&](const std::string& bytes, const std::string& why) {
    EXPECT_ERROR(read(folder, bytes), "cannot read the image \"" + where + "\": ", why);
  };

  refused(png.substr(0, png.size() / 2), "");
  refused(jpeg.substr(0, jpeg.size() / 2), "Premature end of JPEG file");
  png[png.size() / 2] ^= 1;
  refused(png, "");
  refused("GIF89a", "it begins neither as a PNG nor as a JPEG");
  refused("", "it begins neither");
  EXPECT_ERROR(read_image(folder.path() / "none.png"), "cannot read", "none.png\": No such file");
}

TEST(ReadIdx, GivesTheArrayPackedOrNot) {
  const TemporaryFolder folder;
  const std::string bytes = idx_bytes({2, 3}, "abcdef");
  const auto plain = folder.write("plain", bytes), packed = folder.path() / "packed.gz";
  const ::gzFile file = ::gzopen(packed.c_str(), "wb");
  ::gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  ::gzclose(file);

  const at::Tensor array = read_idx(plain);

  EXPECT_TRUE(array.equal(at::arange('a', 'g', at::kByte).view({2, 3})));
  EXPECT_TRUE(read_idx(packed).equal(array));
}

TEST(ReadIdx, NamesTheFileThatIsNone) {
  const TemporaryFolder folder;
  const std::string bytes = idx_bytes({2, 3}, "abcdef");
  const auto refused = [&](const std::string& contents, const std::string& why) {
    EXPECT_ERROR(read_idx(folder.write("array", contents)), "array\": ", why);
  };

  refused(bytes.substr(0, 15), "it ends after 3 of its 6 elements");
  refused(bytes + "g", "it has more than its 6 elements");
  refused(bytes.substr(0, 9), "it ends within its head");
  refused("text", "it is no idx file");
  refused(idx_bytes({1 << 30, 1 << 30}, ""), "more than 2^40 elements");
  std::string floats = bytes;
  floats[2] = 13;
  refused(floats, "its elements are of idx's type 13, not bytes, 8");
  const std::string cut("\x1f\x8b\x08\0\0\0\0\0\0\3ab", 12);
  EXPECT_ERROR(read_idx(folder.write("cut.gz", cut)), "cannot read", "cut.gz\": ");
  EXPECT_ERROR(read_idx(folder.path() / "none"), "none\": No such file");
}

TEST(ToForm, TakesTheMiddleOfTheResizedPicture) {
  const at::Tensor wide = slopes(8, 12).unsqueeze(0);

  EXPECT_TRUE(to_form(wide, {3, 8}).equal(wide.narrow(3, 2, 8)));
  EXPECT_TRUE(to_form(wide.transpose(2, 3), {3, 8}).equal(wide.transpose(2, 3).narrow(2, 2, 8)));
  const auto resized = [](const at::Tensor& of, std::int64_t height, std::int64_t width) {
    const at::Tensor pixels = at::_upsample_bilinear2d_aa(of.to(at::kFloat), {height, width}, false);
    return (pixels + 0.5).floor().to(at::kByte);
  };
  const at::Tensor small = resized(resized(wide, 8, 6), 4, 6);
  EXPECT_TRUE(to_form(wide, {3, 4}).equal(small.narrow(3, 1, 4)));
  EXPECT_THAT(to_form(wide, {3, 16}).sizes(), ElementsAre(1, 3, 16, 16));
}

TEST(ToForm, NamesTheImageThatWouldBecomeTooLarge) {
  const TemporaryFolder folder;
  const at::Tensor line = at::zeros({3, 1, 20000}, at::kByte);
  const auto file = folder.write("line.png", png_bytes(line, PNG_FORMAT_RGB));
  EXPECT_ERROR(read_in_form(file, {3, 224}), "an image of 1 x 20000 pixels would become 224 x 4480000, and ",
               "268435456 is the most; cut it", "; it is \"", "line.png\"");
  EXPECT_TRUE(read_in_form(file, {.channels = 3, .size = 4, .stretched = true})
                  .equal(line.slice(2, 0, 4).expand({3, 4, 4})));
}

TEST(ToForm, IsInGreyAsImagesAreSeen) {
  const at::Tensor image = slopes(8, 8).unsqueeze(0), one = image.narrow(1, 0, 1);
  const at::Tensor grey =
      0.299 * image.select(1, 0) + 0.587 * image.select(1, 1) + 0.114 * image.select(1, 2);

  const at::Tensor far = (to_form(image, {1, 8}).squeeze(1) - grey).abs();
  EXPECT_LE(far.max().item<double>(), 0.501) << "the nearest byte";
  EXPECT_TRUE(to_form(one, {3, 8}).equal(one.expand({1, 3, 8, 8})));
  EXPECT_TRUE(to_form(one.expand({1, 3, 8, 8}), {1, 8}).equal(one));
}

/// What a folder has, read by this worker alone.
struct Sets {
  ImageSet training, held_out;
};
Sets read_all(const std::filesystem::path& folder, const ImageForm& form) {
  const ImageLists lists = list_images(folder);
  return {read_images(lists.training, form), read_images(lists.held_out, form)};
}

TEST(ReadImages, OfMnistsFiles) {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::vector<int>& extents, const std::string& bytes) {
    folder.write(name, idx_bytes(extents, bytes));
  };
  write("train-images-idx3-ubyte", {3, 2, 2}, "abcdefghijkl");
  write("train-labels-idx1-ubyte", {3}, std::string("\2\0\1", 3));
  EXPECT_ERROR(list_images(folder.path()), "there is no ", "t10k-images-idx3-ubyte\", with .gz or");
  write("t10k-images-idx3-ubyte", {1, 2, 2}, "mnop");
  write("t10k-labels-idx1-ubyte", {1}, "\1");

  const Sets sets = read_all(folder.path(), {1, 2});

  EXPECT_TRUE(sets.training.images.equal(at::arange('a', 'm', at::kByte).view({3, 1, 2, 2})));
  EXPECT_TRUE(sets.training.labels.equal(
      at::stack({sets.training.labels[0], sets.training.labels[1], sets.held_out.labels[0]})));
  EXPECT_EQ(sets.training.labels[0].item<std::int64_t>(), 2);
  EXPECT_THAT(sets.training.names, ElementsAre("0", "1", "2"));
  EXPECT_TRUE(sets.held_out.images.equal(at::arange('m', 'q', at::kByte).view({1, 1, 2, 2})));

  EXPECT_EQ(count_images(folder.path()), 3 + 1);

  write("t10k-labels-idx1-ubyte", {1}, "\3");
  EXPECT_ERROR(list_images(folder.path()), "with the label 3, and none to learn from");
  write("t10k-labels-idx1-ubyte", {2}, "\1\1");
  EXPECT_ERROR(list_images(folder.path()), "t10k-labels-idx1-ubyte\" has labels of [2], but there are 1");
}

TEST(ReadImages, OfAFolderForEachLabel) {
  const TemporaryFolder folder;
  const auto grey = [](int level) { return at::full({3, 4, 4}, level, at::kByte); };
  const auto write = [&](const std::string& name, int level) {
    folder.write(name, png_bytes(grey(level), PNG_FORMAT_RGB));
  };
  write("train/dog/1.png", 10);
  write("train/cat/deep/2.PNG", 20);
  folder.write("train/cat/1.jpeg", jpeg_of(grey(30)));
  folder.write("train/cat/notes.txt", "not read");
  folder.write("train/.hidden/1.png", "not read");
  folder.write("train/cat/deep/.thumbnails/2.png", "not read");
  for (const char* link :
       {"train/.loop", "train/cat/.loop", "train/cat/deep/.loop.png"})  // nobody can read it
    std::filesystem::create_symlink(std::filesystem::path(link).filename(), folder.path() / link);

  const ImageLists listed = list_images(folder.path() / "train");
  EXPECT_EQ(listed.held_out.count(), 0);
  const ImageSet all = read_images(listed.training, {1, 4});

  EXPECT_THAT(all.names, ElementsAre("cat", "dog"));
  EXPECT_TRUE(all.images.select(1, 0).select(1, 0).select(1, 0).equal(
      at::stack({grey(30), grey(20), grey(10)}).select(1, 0).select(1, 0).select(1, 0)));
  EXPECT_EQ(all.labels.sum().item<std::int64_t>(), 1);
  EXPECT_EQ(all.labels[2].item<std::int64_t>(), 1);

  write("val/dog/1.png", 40);
  const Sets two = read_all(folder.path(), {1, 4});
  EXPECT_TRUE(two.training.images.equal(all.images));
  EXPECT_EQ(two.held_out.labels.item<std::int64_t>(), 1) << "dog has its number, though there is no cat";

  const ImageList last = listed.training.subset({2, 0});
  EXPECT_TRUE(read_images(last, {1, 4}).images.equal(all.subset({2, 0}).images));
  EXPECT_TRUE(last.labels.equal(all.subset({2, 0}).labels));
  EXPECT_EQ(count_images(folder.path() / "train"), 3);
  EXPECT_EQ(count_images(folder.path()), 3 + 1);

  write("val/fox/1.png", 50);
  EXPECT_ERROR(list_images(folder.path()), "val/fox\" stands for a label that no image to learn from");
}

TEST(ListImages, NamesWhatIsMissing) {
  const TemporaryFolder folder;
  EXPECT_ERROR(list_images(folder.path() / "none"), "there is no folder \"", "none\"; a folder of images");
  EXPECT_ERROR(list_images(folder.path()), "there are no images in the folder \"");
  folder.write("a.png", "not read"), folder.write("b.jpg", "not read"), folder.write("notes.txt", "no image");
  EXPECT_ERROR(list_images(folder.path()),
               "has 2 images, but no folder for each label; a folder of images has");
  folder.write("cat/notes.txt", "no image");
  EXPECT_ERROR(list_images(folder.path()), "there is no .png or .jpg file in the folder \"", "cat\"");

  const TemporaryFolder flat;
  flat.write("train/1.png", "by its name");
  flat.write("val/2.png", "by its name");
  EXPECT_ERROR(list_images(flat.path()), "there is no folder of a label in \"", "/train\"; a folder of");
  flat.write("train/cat/1.png", "by its name");
  EXPECT_ERROR(list_images(flat.path()), "there is no folder of a label in \"", "/val\"; a folder of");
}

TEST(ListImages, RefusesLabelsThatPrintAlike) {
  const TemporaryFolder folder;
  folder.write("o\xffk/1.png", "by its name");
  EXPECT_EQ(count_images(folder.path()), 1);
  folder.write("o\\xffk/1.png", "by its name");
  EXPECT_ERROR(list_images(folder.path()), R"(/o\\xffk" and ")",
               R"(/o\xffk" stand for labels that print alike)");
  EXPECT_EQ(count_images(folder.path()), 0);
}

}  // namespace
}  // namespace riesz
