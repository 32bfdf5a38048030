// Modules, functions and launches. A module is a shared object for the host, with on_cpu.h's entries.
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "block.h"

namespace emu {
namespace {

constexpr int kDefaultShared = 49152;

struct Module {
    Device* device = nullptr;
    void* library = nullptr;
    std::mutex mutex;
    std::map<std::string, CUfunction> functions;
    ~Module() {
        if (library) dlclose(library);
    }
};

struct Function {
    std::shared_ptr<Module> module;
    std::string name;
    Entry entry = nullptr;
    size_t bytes = 0;
    const unsigned char* sizes = nullptr;  // of parameters, ended by a 0; null where there is one
    std::atomic<int> most_shared{kDefaultShared};
};

Registry<Module>& modules() {
    static auto* all = new Registry<Module>;
    return *all;
}
Registry<Function>& functions() {
    static auto* all = new Registry<Function>;
    return *all;
}

// The size of a shared object for this host, or 0 and a code.
size_t size_of(const void* image, int* code) {
    Elf64_Ehdr header;
    std::memcpy(&header, image, 4);
    *code = CUDA_ERROR_INVALID_IMAGE;
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG)) return 0;
    std::memcpy(&header, image, sizeof header);
    *code = CUDA_ERROR_NO_BINARY_FOR_GPU;
#if defined(__x86_64__)
    constexpr int machine = EM_X86_64;
#else
    constexpr int machine = EM_AARCH64;
#endif
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != machine || header.e_type != ET_DYN) return 0;
    *code = CUDA_SUCCESS;
    auto* bytes = static_cast<const char*>(image);
    size_t size = header.e_shoff + size_t(header.e_shnum) * header.e_shentsize;
    for (unsigned i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr part;
        std::memcpy(&part, bytes + header.e_phoff + size_t(i) * header.e_phentsize, sizeof part);
        size = std::max<size_t>(size, part.p_offset + part.p_filesz);
    }
    for (unsigned i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr section;
        std::memcpy(&section, bytes + header.e_shoff + size_t(i) * header.e_shentsize, sizeof section);
        if (section.sh_type != SHT_NOBITS) size = std::max<size_t>(size, section.sh_offset + section.sh_size);
    }
    return size;
}

// Loads bytes as a library. The loader takes libraries of one path for one and the same, thus each has another path to
// the file: the number as a row of slashes and dots.
void* load(const void* image, size_t size) {
    int file = memfd_create("kernels", MFD_CLOEXEC);
    if (file < 0) return nullptr;
    for (size_t written = 0; written < size;) {
        ssize_t n = write(file, static_cast<const char*>(image) + written, size - written);
        if (n < 0 && errno != EINTR) {
            close(file);
            return nullptr;
        }
        if (n > 0) written += static_cast<size_t>(n);
    }
    static std::atomic<unsigned> loaded{0};
    std::string path = "/proc/self/fd";
    for (unsigned number = ++loaded; number; number /= 2) path += number % 2 ? "/." : "/";
    path += "/" + std::to_string(file);
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) told(std::string("cuModuleLoadData: ") + dlerror());
    close(file);
    return library;
}

}  // namespace

void reset_modules(Device* device) {
    functions().remove_if([&](Function& f) { return f.module->device == device; });
    modules().remove_if([&](Module& m) {
        if (m.device == device) count(kModules, -1);
        return m.device == device;
    });
}

}  // namespace emu

using namespace emu;

EMULATED_API CUresult cuModuleLoadData(CUmodule* result, const void* image) {
    EMULATED_CURRENT(cuModuleLoadData);
    if (!result || !image) return CUDA_ERROR_INVALID_VALUE;
    int code = 0;
    size_t size = size_of(image, &code);
    if (!size) return code;
    auto module = std::make_shared<Module>();
    module->device = device;
    module->library = load(image, size);
    if (!module->library) return CUDA_ERROR_INVALID_IMAGE;
    auto* version = static_cast<const int*>(dlsym(module->library, "emulated_kernel_version"));
    if (!version || *version != EMULATED_KERNEL_VERSION) return CUDA_ERROR_INVALID_IMAGE;
    *result = static_cast<CUmodule>(modules().add(module));
    count(kModules, 1);
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuModuleUnload(CUmodule handle) {
    EMULATED_CURRENT(cuModuleUnload);
    auto module = modules().remove(handle);
    if (!module) return CUDA_ERROR_INVALID_HANDLE;
    functions().remove_if([&](Function& f) { return f.module == module; });
    count(kModules, -1);
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuModuleGetFunction(CUfunction* result, CUmodule handle, const char* name) {
    EMULATED_CURRENT(cuModuleGetFunction);
    if (!result || !name) return CUDA_ERROR_INVALID_VALUE;
    auto module = modules().find(handle);
    if (!module) return CUDA_ERROR_INVALID_HANDLE;
    std::lock_guard<std::mutex> lock(module->mutex);
    auto known = module->functions.find(name);
    if (known != module->functions.end()) {
        *result = known->second;
        return CUDA_SUCCESS;
    }
    auto* bytes = static_cast<const unsigned*>(dlsym(module->library, (std::string(name) + "_bytes").c_str()));
    void* entry = dlsym(module->library, name);
    if (!bytes || !entry) return CUDA_ERROR_NOT_FOUND;
    auto function = std::make_shared<Function>();
    function->module = module;
    function->name = name;
    function->entry = reinterpret_cast<Entry>(entry);
    function->bytes = *bytes;
    function->sizes = static_cast<const unsigned char*>(dlsym(module->library, (std::string(name) + "_sizes").c_str()));
    *result = static_cast<CUfunction>(functions().add(function));
    module->functions[name] = *result;
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t* offset, size_t* size) {
    EMULATED_CURRENT(cuFuncGetParamInfo);
    auto function = functions().find(handle);
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    if (!offset) return CUDA_ERROR_INVALID_VALUE;
    const unsigned char whole[] = {1, 0};  // kernels of one parameter say how many bytes, not how they are cut
    const unsigned char* sizes = function->sizes ? function->sizes : whole;
    size_t end = 0;
    for (size_t i = 0; sizes[i]; i++) {
        const size_t bytes = function->sizes ? sizes[i] : function->bytes, align = bytes > 8 ? 8 : bytes;
        const size_t at = function->sizes ? (end + align - 1) / align * align : 0;
        if (i == index) {
            *offset = at;
            if (size) *size = bytes;
            return CUDA_SUCCESS;
        }
        end = at + bytes;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

EMULATED_API CUresult cuFuncGetAttribute(int* value, int attribute, CUfunction handle) {
    EMULATED_CURRENT(cuFuncGetAttribute);
    auto function = functions().find(handle);
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
        case 0:
            *value = 1024;
            break;  // threads of a block
        case 1:
        case 2:
        case 3:
        case 7:
            *value = 0;
            break;  // shared, constant, local memory; cache mode
        case 4:
            *value = 32;
            break;  // registers
        case 5:
        case 6:
            *value = 90;
            break;  // versions of PTX and binary
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
            *value = function->most_shared;
            break;
        case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
            *value = -1;
            break;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuFuncSetAttribute(CUfunction handle, int attribute, int value) {
    EMULATED_CURRENT(cuFuncSetAttribute);
    auto function = functions().find(handle);
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        if (value < 0 || value > static_cast<int>(kMostShared)) return CUDA_ERROR_INVALID_VALUE;
        function->most_shared = value;
        return CUDA_SUCCESS;
    }
    return attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EMULATED_API CUresult cuLaunchKernel(CUfunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                     unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                     CUstream stream_handle, void** parameters, void** extra) {
    EMULATED_CURRENT(cuLaunchKernel);
    auto function = functions().find(handle);
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    std::shared_ptr<Stream> stream;
    if (int code = stream_of(stream_handle, &stream)) return code;
    if (function->module->device != stream->device) return CUDA_ERROR_INVALID_HANDLE;
    if (!grid_x || !grid_y || !grid_z || !block_x || !block_y || !block_z || !parameters || !parameters[0] || extra)
        return CUDA_ERROR_INVALID_VALUE;
    if (grid_x > 2147483647u || grid_y > 65535 || grid_z > 65535 || block_x > 1024 || block_y > 1024 || block_z > 64 ||
        block_x * block_y * block_z > 1024)
        return CUDA_ERROR_INVALID_VALUE;
    if (shared > static_cast<unsigned>(function->most_shared)) return CUDA_ERROR_INVALID_VALUE;
    if (settings().noop) return CUDA_SUCCESS;
    auto launch = std::make_shared<Launch>();
    launch->name = function->name;
    launch->entry = function->entry;
    void* copied = std::aligned_alloc(64, (function->bytes + 63) / 64 * 64 + 64);
    std::memcpy(copied, parameters[0], function->bytes);
    launch->arguments = std::shared_ptr<const void>(copied, [](const void* p) { std::free(const_cast<void*>(p)); });
    unsigned grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};
    std::copy(grid, grid + 3, launch->grid);
    std::copy(block, block + 3, launch->block);
    launch->shared = shared;
    Work work;
    work.name = "cuLaunchKernel";
    work.run = [launch, function] { return run_blocks(*launch); };
    if (int code = submit(stream, std::move(work))) return code;
    if (settings().blocking && !capturing(stream)) {
        stream->now().wait();
        return stream->device->sticky;
    }
    return CUDA_SUCCESS;
}

EMULATED_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction handle, int block_size,
                                                                  size_t shared) {
    EMULATED_CURRENT(cuOccupancyMaxActiveBlocksPerMultiprocessor);
    if (!functions().find(handle)) return CUDA_ERROR_INVALID_HANDLE;
    if (!blocks || block_size < 1) return CUDA_ERROR_INVALID_VALUE;
    if (block_size > 1024 || shared > kMostShared) {
        *blocks = 0;
        return CUDA_SUCCESS;
    }
    int by_threads = 2048 / ((block_size + 31) / 32 * 32);
    int by_memory = static_cast<int>(233472 / (shared + 1024));
    *blocks = std::min({32, by_threads, by_memory});
    return CUDA_SUCCESS;
}
