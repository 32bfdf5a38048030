// Convolution as a matrix product over columns: for dtypes and shapes that oneDNN has no primitive for, and 1 x 1
// kernels, whose columns are the image itself.
#include "conv.h"
#include "gemm.h"

namespace mt::conv {
namespace {

// The geometry as three spatial dimensions.
struct Cube {
    int64_t image[3] = {1, 1, 1}, map[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1},
            padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
    int64_t image_size = 1, map_size = 1, kernel_size = 1;
    explicit Cube(const Geometry& g) {
        for (int i = 0; i < g.spatial; i++) {
            int to = 3 - g.spatial + i;
            image[to] = g.image[i], map[to] = g.map[i], kernel[to] = g.kernel[i];
            stride[to] = g.stride[i], padding[to] = g.padding[i], dilation[to] = g.dilation[i];
        }
        for (int i = 0; i < 3; i++) image_size *= image[i], map_size *= map[i], kernel_size *= kernel[i];
    }
    // f(column row, column index, image index) for one channel; image index -1 in the padding.
    template <class F>
    void walk(const F& f) const {
        int64_t row = 0;
        for (int64_t a = 0; a < kernel[0]; a++)
            for (int64_t b = 0; b < kernel[1]; b++)
                for (int64_t c = 0; c < kernel[2]; c++, row++) {
                    int64_t at = 0;
                    for (int64_t x = 0; x < map[0]; x++) {
                        int64_t i = x * stride[0] - padding[0] + a * dilation[0];
                        for (int64_t y = 0; y < map[1]; y++) {
                            int64_t j = y * stride[1] - padding[1] + b * dilation[1];
                            bool inside = i >= 0 && i < image[0] && j >= 0 && j < image[1];
                            int64_t base = (i * image[1] + j) * image[2];
                            for (int64_t z = 0; z < map[2]; z++, at++) {
                                int64_t k = z * stride[2] - padding[2] + c * dilation[2];
                                f(row, at, inside && k >= 0 && k < image[2] ? base + k : int64_t(-1));
                            }
                        }
                    }
                }
    }
};

struct Sizes {
    int64_t channels, filters, column;  // in one group; rows of the columns
    Cube cube;
    explicit Sizes(const Geometry& g) : channels(g.channels / g.groups), filters(g.filters / g.groups), cube(g) {
        column = channels * cube.kernel_size;
    }
};

template <class T>
void to_columns(const Sizes& s, const T* image, T* columns) {
    parallel_for(s.channels, grain_for(s.cube.kernel_size * s.cube.map_size), [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; c++) {
            const T* from = image + c * s.cube.image_size;
            T* to = columns + c * s.cube.kernel_size * s.cube.map_size;
            s.cube.walk([&](int64_t row, int64_t at, int64_t source) {
                to[row * s.cube.map_size + at] = source < 0 ? T() : from[source];
            });
        }
    });
}

// Of any type: elements are only moved.
void to_columns(const Sizes& s, int64_t itemsize, const char* image, char* columns) {
    visit_size(itemsize,
               [&]<class T>() { to_columns(s, reinterpret_cast<const T*>(image), reinterpret_cast<T*>(columns)); });
}

template <class T>
void from_columns(const Sizes& s, const T* columns, T* image) {
    parallel_for(s.channels, grain_for(s.cube.kernel_size * s.cube.map_size), [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; c++) {
            T* to = image + c * s.cube.image_size;
            std::fill(to, to + s.cube.image_size, T());
            const T* from = columns + c * s.cube.kernel_size * s.cube.map_size;
            s.cube.walk([&](int64_t row, int64_t at, int64_t target) {
                if (target >= 0) to[target] = static_cast<T>(to[target] + from[row * s.cube.map_size + at]);
            });
        }
    });
}

void from_columns(const Sizes& s, DType type, const char* op, const char* columns, char* image) {
    visit(NumberTypes{}, type, op,
          [&]<class T>() { from_columns(s, reinterpret_cast<const T*>(columns), reinterpret_cast<T*>(image)); });
}

char* at(const Tensor& t, int64_t element) { return t.raw() + element * t.itemsize(); }

constexpr const char* kName = "slow_conv2d_cpu";

}  // namespace

bool Geometry::is_pointwise() const {
    for (int i = 0; i < spatial; i++)
        if (kernel[i] != 1 || stride[i] != 1 || padding[i] != 0 || map[i] != image[i]) return false;
    return true;
}

void columns_forward(const Geometry& g, const Tensor& image, const Tensor& weight, const Tensor* bias, Tensor& map) {
    Sizes s(g);
    const bool pointwise = g.is_pointwise();
    TensorRef columns = pointwise ? TensorRef() : empty({s.column, s.cube.map_size}, image.dtype);
    Product p;
    p.dtype = image.dtype;
    p.m = s.filters, p.n = s.cube.map_size, p.k = s.column;
    p.a_row = s.column, p.b_row = s.cube.map_size, p.c_row = s.cube.map_size;
    if (pointwise) {
        p.batch = g.batch;
        p.b_batch = g.channels * s.cube.image_size, p.c_batch = g.filters * s.cube.map_size;
    }
    for (int64_t group = 0; group < g.groups; group++) {
        p.a = at(weight, group * s.filters * s.column);
        for (int64_t n = 0; n < (pointwise ? 1 : g.batch); n++) {
            char* source = at(image, (n * g.channels + group * s.channels) * s.cube.image_size);
            if (!pointwise) to_columns(s, image.itemsize(), source, columns->raw());
            p.b = pointwise ? source : columns->raw();
            p.c = at(map, (n * g.filters + group * s.filters) * s.cube.map_size);
            gemm(p, kName);
        }
    }
    if (bias)
        visit(NumberTypes{}, map.dtype, kName, [&]<class T>() {
            const T* b = bias->data<T>();
            T* data = map.data<T>();
            parallel_for(g.batch * g.filters, grain_for(s.cube.map_size), [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; i++) {
                    const T add = b[i % g.filters];
                    T* row = data + i * s.cube.map_size;
                    for (int64_t j = 0; j < s.cube.map_size; j++) row[j] = static_cast<T>(row[j] + add);
                }
            });
        });
}

void columns_backward_data(const Geometry& g, const Tensor& map, const Tensor& weight, Tensor& image) {
    Sizes s(g);
    const bool pointwise = g.is_pointwise();
    TensorRef columns = pointwise ? TensorRef() : empty({s.column, s.cube.map_size}, map.dtype);
    Product p;
    p.dtype = map.dtype;
    p.m = s.column, p.n = s.cube.map_size, p.k = s.filters;
    p.a_row = 1, p.a_col = s.column, p.b_row = s.cube.map_size, p.c_row = s.cube.map_size;
    if (pointwise) {
        p.batch = g.batch;
        p.b_batch = g.filters * s.cube.map_size, p.c_batch = g.channels * s.cube.image_size;
    }
    for (int64_t group = 0; group < g.groups; group++) {
        p.a = at(weight, group * s.filters * s.column);
        for (int64_t n = 0; n < (pointwise ? 1 : g.batch); n++) {
            char* target = at(image, (n * g.channels + group * s.channels) * s.cube.image_size);
            p.b = at(map, (n * g.filters + group * s.filters) * s.cube.map_size);
            p.c = pointwise ? target : columns->raw();
            gemm(p, kName);
            if (!pointwise) from_columns(s, map.dtype, kName, columns->raw(), target);
        }
    }
}

void columns_backward_weight(const Geometry& g, const Tensor& image, const Tensor& map, Tensor& weight) {
    Sizes s(g);
    const bool pointwise = g.is_pointwise();
    TensorRef columns = pointwise ? TensorRef() : empty({s.column, s.cube.map_size}, map.dtype);
    Product p;
    p.dtype = map.dtype;
    p.m = s.filters, p.n = s.column, p.k = s.cube.map_size;
    p.a_row = s.cube.map_size, p.b_row = 1, p.b_col = s.cube.map_size, p.c_row = s.column;
    if (g.batch == 0 && weight.numel())
        std::memset(weight.raw(), 0, static_cast<size_t>(weight.numel() * weight.itemsize()));
    for (int64_t group = 0; group < g.groups; group++)
        for (int64_t n = 0; n < g.batch; n++) {
            char* source = at(image, (n * g.channels + group * s.channels) * s.cube.image_size);
            if (!pointwise) to_columns(s, image.itemsize(), source, columns->raw());
            p.a = at(map, (n * g.filters + group * s.filters) * s.cube.map_size);
            p.b = pointwise ? source : columns->raw();
            p.c = at(weight, group * s.filters * s.column);
            p.beta = n == 0 ? 0 : 1;
            gemm(p, kName);
        }
}

void image_to_columns(const Geometry& g, const Tensor& image, Tensor& columns) {
    Sizes s(g);
    visit(AllTypes{}, image.dtype, "im2col", []<class T>() {});
    for (int64_t n = 0; n < g.batch; n++)
        to_columns(s, image.itemsize(), at(image, n * g.channels * s.cube.image_size),
                   at(columns, n * s.column * s.cube.map_size));
}

void columns_to_image(const Geometry& g, const Tensor& columns, Tensor& image) {
    Sizes s(g);
    visit(NumberTypes{}, image.dtype, "col2im", []<class T>() {});
    for (int64_t n = 0; n < g.batch; n++)
        from_columns(s, image.dtype, "col2im", at(columns, n * s.column * s.cube.map_size),
                     at(image, n * g.channels * s.cube.image_size));
}

}  // namespace mt::conv
