// GE's convolutions of images in NCHW.
#include "operators.h"

using T = const aclTensor*;
using O = aclTensor*;
using IA = const aclIntArray*;
using BA = const aclBoolArray*;

USES(Convolution, T, T, T, IA, IA, IA, bool, IA, int64_t, O, int8_t)
USES(ConvolutionBackward, T, T, T, IA, IA, IA, IA, bool, IA, int32_t, BA, int8_t, O, O, O)

namespace emu::ge {
namespace {

struct Settings {
    IA stride, padding, dilation, none;
    int64_t groups;
};

Settings settings_of(Call& c) {
    const Shape &strides = c.attr("strides").list, &pads = c.attr("pads").list, &dilations = c.attr("dilations").list;
    auto fail = [&](const char* why) { throw text(c.op.type, " '", c.op.name, "': ", why); };
    if (c.attr("data_format").s != "NCHW") fail("the layout is not NCHW");
    if (strides.size() != 4 || pads.size() != 4 || dilations.size() != 4)
        fail("strides, pads and dilations need four numbers");
    if (pads[0] != pads[1] || pads[2] != pads[3]) fail("the two sides are padded differently");
    return {c.ints({strides[2], strides[3]}), c.ints({pads[0], pads[2]}), c.ints({dilations[2], dilations[3]}),
            c.ints({0, 0}), c.attr("groups").i};
}

}  // namespace

GE(Conv2D) {
    Settings s = settings_of(c);
    RUN(Convolution, c.in("x"), c.in("filter"), c.optional("bias"), s.stride, s.padding, s.dilation, false, s.none,
        s.groups, c.out("y"), int8_t(1));
}
GE(Conv2DBackpropInput) {
    Settings s = settings_of(c);
    O y = c.out("y");
    O unknown = c.scratch(y->view.dtype, sizes_of(y));  // the input itself does not count for its gradient
    RUN(ConvolutionBackward, c.in("out_backprop"), unknown, c.in("filter"), nullptr, s.stride, s.padding, s.dilation,
        false, s.none, static_cast<int32_t>(s.groups), c.flags({true, false, false}), int8_t(1), y, nullptr, nullptr);
}
GE(Conv2DBackpropFilter) {
    Settings s = settings_of(c);
    O y = c.out("y");
    O unknown = c.scratch(y->view.dtype, sizes_of(y));
    RUN(ConvolutionBackward, c.in("out_backprop"), c.in("x"), unknown, nullptr, s.stride, s.padding, s.dilation, false,
        s.none, static_cast<int32_t>(s.groups), c.flags({false, true, false}), int8_t(1), nullptr, y, nullptr);
}

}  // namespace emu::ge
