// The frame of element-wise operators: load, loop, store.
#include "pointwise.h"

namespace emu {

Plan elementwise(std::initializer_list<const View*> inputs, const View& out, std::unique_ptr<const Loop> given_loop,
                 Kind least) {
    Shape shape = broadcast(inputs);
    same_shape(out, shape, "the output");
    Kind kind = wider(least, kind_of(out.dtype));
    std::vector<View> views;
    std::shared_ptr<const Loop> loop = std::move(given_loop);  // a plan can be copied
    for (const View* v : inputs) {
        kind = wider(kind, kind_of(v->dtype));
        views.push_back(*v);
    }
    return {[=] {
        with_kind(kind, [&](auto c) {
            using C = decltype(c);
            std::vector<C> values[3];
            for (size_t i = 0; i < views.size(); i++) values[i] = load<C>(views[i], shape);
            loop->run(kind, values[0].data(), values[1].data(), values[2].data(),
                      static_cast<int64_t>(values[0].size()));
            store(out, values[0]);
        });
    }};
}

}  // namespace emu
