// What the headers and libraries of a newer glibc expect of an older one: linked into each library of a wheel, hidden.
#include <pthread.h>
#include <time.h>

#define MT_HIDDEN extern "C" __attribute__((visibility("hidden")))

// libstdc++ asks it before it counts references without atomic instructions (glibc 2.32).
MT_HIDDEN char __libc_single_threaded;
char __libc_single_threaded = 0;

// Waiting by another clock than the condition's (glibc 2.30): the time that is left, from now by the condition's clock.
MT_HIDDEN int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                     const timespec* until) {
    timespec now, wall;
    clock_gettime(clock, &now);
    clock_gettime(CLOCK_REALTIME, &wall);
    wall.tv_sec += until->tv_sec - now.tv_sec;
    wall.tv_nsec += until->tv_nsec - now.tv_nsec;
    if (wall.tv_nsec < 0) wall.tv_nsec += 1000000000, wall.tv_sec--;
    if (wall.tv_nsec >= 1000000000) wall.tv_nsec -= 1000000000, wall.tv_sec++;
    return pthread_cond_timedwait(condition, mutex, &wall);
}
