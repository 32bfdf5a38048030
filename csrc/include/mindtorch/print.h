// Tensors as text, in the form of C++: columns of numbers, then the type and the sizes. Included by functions.h.
#pragma once

#include <cmath>
#include <iomanip>
#include <iostream>
#include <ostream>
#include <vector>

namespace mindtorch MINDTORCH_HIDDEN {

// How wide the numbers of a tensor are printed, and by what they are divided first.
struct PrintForm {
    double scale = 1;
    int width = 0;
};

// Whole numbers are printed as they are, others with four digits: scaled, or with an exponent where they differ much.
inline PrintForm print_form(std::ostream& out, const std::vector<double>& numbers) {
    bool whole = true, found = false;
    double least = 1, greatest = 1;
    for (const double number : numbers) {
        if (!std::isfinite(number)) continue;
        const double size = std::fabs(number);
        whole = whole && number == std::ceil(number);
        least = found ? std::min(least, size) : size;
        greatest = found ? std::max(greatest, size) : size;
        found = true;
    }
    const auto digits = [](double x) { return x == 0 ? 1 : static_cast<int>(std::floor(std::log10(x))) + 1; };
    const int low = found ? digits(least) : 1, high = found ? digits(greatest) : 1;
    PrintForm form;
    if (whole) {
        form.width = high > 9 ? 11 : high + 1;
        if (high > 9)
            out << std::scientific << std::setprecision(4);
        else
            out << std::defaultfloat;
    } else if (high - low > 4) {
        form.width = std::abs(high) > 99 || std::abs(low) > 99 ? 12 : 11;
        out << std::scientific << std::setprecision(4);
    } else {
        if (high > 5 || high < 0) {
            form.width = 7;
            form.scale = std::pow(10.0, high - 1);
        } else {
            form.width = high == 0 ? 7 : high + 6;
        }
        out << std::fixed << std::setprecision(4);
    }
    return form;
}
inline void print_scale(std::ostream& out, double scale) {
    const auto flags = out.flags();
    const auto precision = out.precision(15);
    out << std::defaultfloat << scale << " *\n";
    out.flags(flags);
    out.precision(precision);
}

// Rows and columns, as many columns at a time as fit into a line.
inline void print_matrix(std::ostream& out, const double* numbers, int64_t rows, int64_t columns, int64_t line,
                         int indent) {
    const auto form = print_form(out, std::vector<double>(numbers, numbers + rows * columns));
    const std::string margin(static_cast<size_t>(indent), ' '), before_row = margin + (form.scale != 1 ? " " : "");
    const int64_t each = std::max<int64_t>(1, (line - indent) / (form.width + 1));
    for (int64_t first = 0; first < columns; first += each) {
        const int64_t end = std::min(columns, first + each);
        if (each < columns) out << (first ? "\n" : "") << "Columns " << first + 1 << " to " << end << margin;
        if (form.scale != 1) {
            print_scale(out, form.scale);
            out << margin;
        }
        for (int64_t row = 0; row < rows; row++) {
            for (int64_t column = first; column < end; column++)
                out << std::setw(form.width) << numbers[row * columns + column] / form.scale
                    << (column + 1 < end ? " " : "\n");
            if (row + 1 < rows) out << before_row;  // the first has what stands before all of them
        }
    }
}

inline void print_numbers(std::ostream& out, const at::Tensor& tensor, int64_t line) {
    const at::Tensor all = tensor.detach().to(at::kCPU).to(at::kDouble).contiguous();
    const double* numbers = all.const_data_ptr<double>();
    const int64_t dim = all.dim(), count = all.numel();
    if (dim == 0) {
        out << std::defaultfloat << numbers[0] << '\n';
    } else if (dim == 1 && count) {
        const auto form = print_form(out, std::vector<double>(numbers, numbers + count));
        if (form.scale != 1) print_scale(out, form.scale);
        for (int64_t i = 0; i < count; i++) out << std::setw(form.width) << numbers[i] / form.scale << '\n';
    } else if (dim == 2 && count) {
        print_matrix(out, numbers, all.size(0), all.size(1), line, 0);
    } else if (count) {
        const int64_t rows = all.size(-2), columns = all.size(-1);
        std::vector<int64_t> at(static_cast<size_t>(dim - 2));  // the first dimension goes fastest
        for (int64_t i = 0; i < count / (rows * columns); i++) {
            int64_t left = i, place = 0;
            out << (i ? "\n(" : "(");
            for (size_t d = 0; d < at.size(); d++) {
                at[d] = left % all.size(static_cast<int64_t>(d));
                left /= all.size(static_cast<int64_t>(d));
                place += at[d] * all.stride(static_cast<int64_t>(d));
                out << at[d] + 1 << ',';
            }
            out << ".,.) = \n";
            print_matrix(out, numbers + place, rows, columns, line, 1);
        }
    }
}

inline std::ostream& print_tensor(std::ostream& out, const at::Tensor& tensor, int64_t line) {
    if (!tensor.defined()) return out << "[ Tensor (undefined) ]";
    if (tensor.is_sparse())
        return print_tensor(print_tensor(out << "[ " << tensor.toString() << "{}\nindices:\n", tensor._indices(), line)
                                << "\nvalues:\n",
                            tensor._values(), line)
               << "\nsize:\n"
               << tensor.sizes() << "\n]";
    const auto flags = out.flags();
    const auto precision = out.precision();
    if (tensor.is_complex())
        out << at::toString(tensor) << '\n';  // as Python says it
    else
        print_numbers(out, tensor, line);
    out.flags(flags);
    out.precision(precision);
    out << "[ " << tensor.toString() << '{';
    for (int64_t d = 0; d < tensor.dim(); d++) out << (d ? "," : "") << tensor.size(d);
    return out << "} ]";
}

}  // namespace mindtorch MINDTORCH_HIDDEN

namespace at {
inline std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
    return mindtorch::print_tensor(out, tensor, 80);
}
inline std::ostream& print(std::ostream& out, const Tensor& tensor, int64_t line_size) {
    return mindtorch::print_tensor(out, tensor, line_size);
}
inline void Tensor::print() const {
    if (defined())
        std::cerr << '[' << toString() << ' ' << sizes() << "]\n";
    else
        std::cerr << "[UndefinedTensor]\n";
}
inline void print(const Tensor& tensor, int64_t line_size = 80) { print(std::cout, tensor, line_size); }
}  // namespace at
