// c10::Registry: objects that are made by a name. One translation unit defines a registry, others register classes.
#pragma once

#include <mindtorch/api.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace c10 {

enum RegistryPriority { REGISTRY_FALLBACK = 1, REGISTRY_DEFAULT = 2, REGISTRY_PREFERRED = 3 };

template <class Key, class Made, class... Args>
class Registry {
  public:
    using Creator = std::function<Made(Args...)>;
    // A creator of a higher priority takes the place of one of a lower; two of one priority are an error.
    void Register(const Key& key, Creator creator, RegistryPriority priority = REGISTRY_DEFAULT,
                  const std::string& help = "") {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto known = entries_.find(key);
        if (known != entries_.end()) {
            TORCH_CHECK(known->second.priority != priority || !terminate_, "Key already registered: ", key);
            if (known->second.priority > priority) return;
        }
        entries_[key] = {std::move(creator), priority, help};
    }
    void Register(const Key& key, Creator creator, const std::string& help,
                  RegistryPriority priority = REGISTRY_DEFAULT) {
        Register(key, std::move(creator), priority, help);
    }
    bool Has(const Key& key) { return entries_.count(key) != 0; }
    Made Create(const Key& key, Args... args) {
        const auto known = entries_.find(key);
        return known == entries_.end() ? nullptr : known->second.creator(args...);
    }
    std::vector<Key> Keys() const {
        std::vector<Key> keys;
        for (const auto& entry : entries_) keys.push_back(entry.first);
        return keys;
    }
    const char* HelpMessage(const Key& key) const {
        const auto known = entries_.find(key);
        return known == entries_.end() ? nullptr : known->second.help.c_str();
    }
    void SetTerminate(bool terminate) { terminate_ = terminate; }

  private:
    struct Entry {
        Creator creator;
        RegistryPriority priority;
        std::string help;
    };
    std::map<Key, Entry> entries_;
    bool terminate_ = true;
    std::mutex mutex_;
};

// Registers while the program is loaded.
template <class Key, class Made, class... Args>
class Registerer {
  public:
    using Kind = Registry<Key, Made, Args...>;
    Registerer(const Key& key, Kind* registry, typename Kind::Creator creator, const std::string& help = "") {
        registry->Register(key, std::move(creator), REGISTRY_DEFAULT, help);
    }
    Registerer(const Key& key, RegistryPriority priority, Kind* registry, typename Kind::Creator creator,
               const std::string& help = "") {
        registry->Register(key, std::move(creator), priority, help);
    }
    template <class Class>
    static Made DefaultCreator(Args... args) {
        return Made(new Class(args...));
    }
};

}  // namespace c10

#define C10_DECLARE_TYPED_REGISTRY(Name, Key, Object, Pointer, ...)       \
    C10_API ::c10::Registry<Key, Pointer<Object>, ##__VA_ARGS__>* Name(); \
    using Registerer##Name = ::c10::Registerer<Key, Pointer<Object>, ##__VA_ARGS__>
#define C10_DEFINE_TYPED_REGISTRY(Name, Key, Object, Pointer, ...)                                             \
    C10_EXPORT ::c10::Registry<Key, Pointer<Object>, ##__VA_ARGS__>* Name() {                                  \
        static auto* const registry = new ::c10::Registry<Key, Pointer<Object>, ##__VA_ARGS__>(); /* NOLINT */ \
        return registry;                                                                                       \
    }
#define C10_DECLARE_REGISTRY(Name, Object, ...) \
    C10_DECLARE_TYPED_REGISTRY(Name, std::string, Object, std::unique_ptr, ##__VA_ARGS__)
#define TORCH_DECLARE_REGISTRY(Name, Object, ...) C10_DECLARE_REGISTRY(Name, Object, ##__VA_ARGS__)
#define C10_DEFINE_REGISTRY(Name, Object, ...) \
    C10_DEFINE_TYPED_REGISTRY(Name, std::string, Object, std::unique_ptr, ##__VA_ARGS__)
#define C10_DECLARE_SHARED_REGISTRY(Name, Object, ...) \
    C10_DECLARE_TYPED_REGISTRY(Name, std::string, Object, std::shared_ptr, ##__VA_ARGS__)
#define C10_DEFINE_SHARED_REGISTRY(Name, Object, ...) \
    C10_DEFINE_TYPED_REGISTRY(Name, std::string, Object, std::shared_ptr, ##__VA_ARGS__)
#define C10_REGISTER_TYPED_CREATOR(Name, key, ...) \
    static Registerer##Name C10_ANONYMOUS_VARIABLE(g_##Name)(key, Name(), ##__VA_ARGS__)
#define C10_REGISTER_TYPED_CLASS(Name, key, ...) \
    static Registerer##Name C10_ANONYMOUS_VARIABLE(g_##Name)(key, Name(), Registerer##Name::DefaultCreator<__VA_ARGS__>)
#define C10_REGISTER_CREATOR(Name, key, ...) C10_REGISTER_TYPED_CREATOR(Name, #key, __VA_ARGS__)
#define C10_REGISTER_CLASS(Name, key, ...) C10_REGISTER_TYPED_CLASS(Name, #key, __VA_ARGS__)
