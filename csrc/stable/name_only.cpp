// Libraries that only carry a name: those that name them find what they need in libtorch_cpu.so.
